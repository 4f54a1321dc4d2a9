"""The commands of the server, one file each; nothing is loaded before one of them runs."""

from hushpoll_client.cli.registry import Command

_LINES = {
    "backup": ("backup:backup", "Write everything the server keeps into one file, and verify it."),
    "check": ("check:check", "Count sealed reports again and compare with the counts that results show."),
    "config": ("config:config", "Show the settings in force, and check them."),
    "demo": ("demo:demo", "Run a study with a known truth through a real server."),
    "export": ("export:export", "Write a survey's sealed reports with codebook and scripts."),
    "report": ("report:report", "The debiased report of a survey."),
    "restore": ("backup:restore", "Put a backup into an empty database, and verify it."),
    "serve": ("serve:serve", "Run the web server."),
    "survey close": ("survey:close", "Close a survey: now, after a day, or at a number of reports."),
    "survey sizes": ("survey:sizes", "Say how many people each group has."),
    "survey import": ("survey_import:import_", "Read an XLSForm or a LimeSurvey structure into a draft."),
    "survey invite": ("survey:invite", "Make one-time invitations, as CSV."),
    "survey list": ("survey:list_surveys", "List published surveys."),
    "survey publish": ("survey:publish", "Publish a survey document for good."),
    "survey reopen": ("survey:reopen", "Open a closed survey again."),
    "user": ("user:user", "Add and manage accounts."),
}

COMMANDS = {
    name: Command(f"hushpoll_server.cli.{target}", line, "server") for name, (target, line) in _LINES.items()
}
# Without the server's libraries it compares all files; the pages themselves, which have to be rendered, with them.
COMMANDS["verify"] = Command(
    "hushpoll_server.cli.verify:verify", "Compare what a server serves with this release, byte for byte."
)
