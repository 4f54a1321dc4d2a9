runuser -u postgres -- createuser --pwprompt hushpoll
runuser -u postgres -- createdb --owner=hushpoll hushpoll
