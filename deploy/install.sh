apt-get update
apt-get install --yes --no-install-recommends python3-venv nginx-light certbot
adduser --system --group --home /var/lib/hushpoll hushpoll
python3 -m venv /opt/hushpoll
/opt/hushpoll/bin/pip install -c constraints.txt "$(ls hushpoll-*.whl)[server]"
ln -s /opt/hushpoll/bin/hushpoll /usr/local/bin/hushpoll
install -D -m 0640 -g hushpoll deploy/hushpoll.toml /etc/hushpoll/hushpoll.toml
install -m 0644 deploy/hushpoll*.service deploy/hushpoll*.timer /etc/systemd/system/
certbot certonly --standalone --domain survey.example.org
install -m 0644 deploy/nginx.conf /etc/nginx/conf.d/hushpoll.conf
systemctl daemon-reload
systemctl enable --now hushpoll hushpoll-backup.timer
systemctl restart nginx
runuser -u hushpoll -- hushpoll config
journalctl -u hushpoll | grep Account:
