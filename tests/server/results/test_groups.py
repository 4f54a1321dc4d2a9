"""Groups by link for designers and statisticians: in the editor, on the survey's page, in results, files and waves."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import secrets
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.simulation.groups import simulate_columns
from hushpoll_client import HushpollError, Survey
from hushpoll_server.collect import closing, invitations
from hushpoll_server.store.surveys import Store

from tests.command import run_command
from tests.server.accounts_kit import make_draft, signed_in, submit
from tests.serving import post_batch
from tests.vectors.surveys import choice, survey, yes_no

NAMES = ["Science", "Arts", "Law"]
ASKED = [yes_no("cheated", {"name": "warner", "epsilon": 2}), choice("why", ["Time", "Fear"], {"epsilon": 2})]
TRUTH = {"cheated": {"Science": [0.9, 0.1], "Arts": [0.4, 0.6], "Law": [0.5, 0.5]}, "why": [0.5, 0.5]}


def collected(
    site_store: Store, owner: FlaskClient, title: str, shares: list[float], n: int = 1000, **more: Any
) -> Survey:
    """Return a closed survey with this many reports, distributed over the groups by their shares."""
    published = Survey.from_draft(survey(*ASKED, title=title) | {"groups": NAMES} | more)
    site_store.publish(published, "owner")
    truth = TRUTH if published.groups == tuple(NAMES) else {"cheated": [0.5, 0.5], "why": [0.5, 0.5]}
    columns = simulate_columns(published, n, truth | {"group": shares}, 5)
    rows = zip(columns["group"], columns["cheated"].tolist(), columns["why"].tolist(), strict=True)
    lines = [
        json.dumps({"id": secrets.token_hex(16), "reports": reports, "group": published.groups.index(group)})
        for group, *reports in rows
    ]
    assert post_batch(owner, published, "\n".join(lines).encode()).status_code == 201
    closing.close(site_store, published.hash)
    return published


@pytest.fixture(scope="module")
def closed(site: tuple[Flask, Store]) -> Survey:
    """A survey with 600, 360 and 40 reports: Law is too small, and Arts would show it by subtraction."""
    return collected(site[1], signed_in(*site, "owner"), "Faculties", [0.6, 0.36, 0.04])


# Results --------------------------------------------------------------------------------------------------------


def test_the_page_shows_groups_and_hides_small_ones(owner: FlaskClient, closed: Survey) -> None:
    page_without_groups = owner.get(f"/surveys/{closed.hash}/report").text
    assert '<option value="group">Group (by link)</option>' in page_without_groups
    page = html.unescape(owner.get(f"/surveys/{closed.hash}/report?by=group").text)
    assert "Shown together as “other”: Arts, Law." in page
    labels = set(re.findall(r'<div class="forest-label" dir="auto">([^<]+)</div>', page))
    assert {"Science", "other"} <= labels
    assert not {"Arts", "Law"} & labels
    table = owner.get(f"/surveys/{closed.hash}/report/table?outcome=cheated&by=group&reference=other").text
    assert "other" in table
    assert (
        owner.get(f"/surveys/{closed.hash}/report/table?outcome=cheated&by=group&reference=Law").status_code
        == 422
    )


def test_json_csv_and_text_hide_them_too(owner: FlaskClient, closed: Survey) -> None:
    value = owner.get(f"/api/surveys/{closed.hash}/results?by=group").json
    assert value["group_sizes"] == {"Science": 600, "other": 400}
    (cheated, _) = value["groups"]
    shares = {(row["group"], row["option"]): row for row in cheated["shares"]}
    assert set(shares) == {("Science", "Yes"), ("other", "Yes")}
    assert shares["Science", "Yes"]["low"] < 0.1 < shares["Science", "Yes"]["high"]
    for form in ("csv", "txt", "html"):
        text = owner.get(f"/surveys/{closed.hash}/report.{form}?by=group").text
        assert "other" in text
    rows = csv.DictReader(io.StringIO(owner.get(f"/surveys/{closed.hash}/report.csv?by=group").text))
    assert {row["group"] for row in rows} == {"", "Science", "other"}


def test_the_export_does_not_undo_it(owner: FlaskClient, closed: Survey) -> None:
    with owner.get(f"/surveys/{closed.hash}/export.zip") as answer:
        archive = zipfile.ZipFile(io.BytesIO(answer.data))
    folder = f"hushpoll-{closed.hash[:12]}"
    table = pd.read_csv(archive.open(f"{folder}/reports.csv"))
    assert table["group"].value_counts().to_dict() == {"Science": 600, "other": 400}
    parquet = pd.read_parquet(io.BytesIO(archive.read(f"{folder}/reports.parquet")))
    assert set(parquet["group"]) == {"Science", "other"}


def test_a_larger_minimum_of_the_survey_counts(site_store: Store, owner: FlaskClient) -> None:
    large_minimum = Survey.from_draft(survey(*ASKED, title="A hundred") | {"groups": NAMES})
    site_store.publish(large_minimum, "owner", minimum_batch=100)
    lines = [
        json.dumps({"id": secrets.token_hex(16), "reports": [0, 0], "group": group})
        for group, n in enumerate((200, 150, 70))
        for _ in range(n)
    ]
    post_batch(owner, large_minimum, "\n".join(lines).encode())
    closing.close(site_store, large_minimum.hash)
    value = owner.get(f"/api/surveys/{large_minimum.hash}/results?by=group").json
    assert value["group_sizes"] == {"Science": 200, "other": 220}


def test_a_question_of_another_survey_is_refused(owner: FlaskClient, site_store: Store) -> None:
    plain = Survey.from_draft(survey(*ASKED, title="No groups"))
    site_store.publish(plain, "owner")
    assert owner.get(f"/surveys/{plain.hash}/report?by=group").status_code == 422
    assert "Group (by link)" not in owner.get(f"/surveys/{plain.hash}/report").text


# Sizes ----------------------------------------------------------------------------------------------------------


def test_known_sizes_weight_the_results(owner: FlaskClient, site_store: Store) -> None:
    weighted = collected(site_store, owner, "Weighted", [0.5, 0.3, 0.2])
    address = f"/api/surveys/{weighted.hash}/results"
    plain = owner.get(address).json["questions"][0]["estimates"][0]
    page = owner.get(f"/surveys/{weighted.hash}").text
    assert "People in each group" in page
    fields = {"size_0": "9000", "size_1": "600", "size_2": "400"}
    saved = submit(owner, f"/surveys/{weighted.hash}/sizes", f"/surveys/{weighted.hash}", **fields)
    assert saved.status_code == 302
    weighted = owner.get(address).json["questions"][0]["estimates"][0]
    assert plain["estimate"] == pytest.approx(0.5 * 0.1 + 0.3 * 0.6 + 0.2 * 0.5, abs=0.1)
    assert weighted["estimate"] == pytest.approx(0.9 * 0.1 + 0.06 * 0.6 + 0.04 * 0.5, abs=0.1)
    assert 'value="9000"' in owner.get(f"/surveys/{weighted.hash}").text
    assert owner.get(f"/surveys/{weighted.hash}/report?by=group").status_code == 200
    # More reports than people: the sizes cannot be right and are left aside.
    site_store.set_group_sizes(weighted.hash, {"Science": 10, "Arts": 600, "Law": 400})
    assert owner.get(address).json["questions"][0]["estimates"][0]["estimate"] == plain["estimate"]
    for fields, message in (
        (
            {"size_0": "9000", "size_1": "", "size_2": "400"},
            "Fill in this one too, or leave all of them empty.",
        ),
        ({"size_0": "0", "size_1": "1", "size_2": "1"}, "Type a whole number from 1 to"),
        ({"size_0": "x", "size_1": "1", "size_2": "1"}, "Type a whole number from 1 to"),
    ):
        refused = submit(owner, f"/surveys/{weighted.hash}/sizes", f"/surveys/{weighted.hash}", **fields)
        assert (refused.status_code, message in refused.text) == (422, True)
    cleared = submit(
        owner, f"/surveys/{weighted.hash}/sizes", f"/surveys/{weighted.hash}", **dict.fromkeys(fields, "")
    )
    assert cleared.status_code == 302
    state = site_store.state(weighted.hash)
    assert state is not None
    assert state.populations is None


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"Science": 1}, '"Arts" has no size'),
        ({"Science": 1, "Arts": 1, "Law": 0}, '"Law" cannot have 0 people'),
        ({"Science": 1, "Arts": 1, "Law": 1, "Music": 1}, '"Music" is none of them'),
    ],
)
def test_wrong_sizes_are_named(
    site_store: Store, closed: Survey, sizes: dict[str, int], message: str
) -> None:
    with pytest.raises(HushpollError, match=message):
        site_store.set_group_sizes(closed.hash, sizes)


# On the command line --------------------------------------------------------------------------------------------


@pytest.fixture
def run(site_store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("DATA", str(site_store.config.data))
    monkeypatch.setenv("DATABASE_URL", site_store.config.database_url)

    return partial(run_command, capsys)


def test_report_by_group_and_sizes(run, closed: Survey, site_store: Store) -> None:  # type: ignore[no-untyped-def]
    name = closed.hash[:12]
    status, out, err = run("report", name, "--by", "group", "--json")
    assert status == 0, err
    assert json.loads(out)["group_sizes"] == {"Science": 600, "other": 400}
    assert "Shown together as “other”: Arts, Law." in run("report", name, "--by", "group")[1].replace(
        "\n  ", " "
    )
    size_options = ("--group-size", "Science=600", "--group-size", "Arts=60000", "--group-size", "Law=1000")
    plain = json.loads(run("report", name, "--json")[1])["questions"][0]["estimates"][0]["estimate"]
    weighted = json.loads(run("report", name, "--json", *size_options)[1])["questions"][0]["estimates"][0][
        "estimate"
    ]
    assert weighted > plain + 0.1
    assert (
        run("survey", "sizes", name, "Science=600", "Arts=60000", "Law=1000")[1]
        == "Results are weighted by group.\n"
    )
    assert (
        json.loads(run("report", name, "--json")[1])["questions"][0]["estimates"][0]["estimate"] == weighted
    )
    assert run("survey", "sizes", name)[1] == "Results are not weighted by group.\n"
    for arguments, message in (
        (("report", name, "--group-size", "Science"), "write NAME=N, as in Science=1200"),
        (("report", name, "--group-size", "Science=9"), '"Arts" has no size'),
        (("report", name, *size_options[:2], *size_options[:2]), "'Science' is given twice"),
        (("survey", "sizes", name, "Science=x"), "write NAME=N"),
        (("survey", "sizes", name, "Music=1"), '"Music" is none of them'),
    ):
        status, _, err = run(*arguments)
        assert (status, message in err) == (2, True), err


def test_export_and_simulate(run, closed: Survey, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert run("export", closed.hash[:12], "--out", str(tmp_path / "out"))[0] == 0
    assert set(pd.read_csv(tmp_path / "out" / "reports.csv")["group"]) == {"Science", "other"}
    folder = tmp_path / "out"
    source = (str(folder / "survey.json"), "--data", str(folder / "reports.parquet"))
    status, out, err = run("report", *source, "--by", "group", "--json")
    assert json.loads(out)["group_sizes"] == {"Science": 600, "other": 400}, err
    drafted = tmp_path / "draft.json"
    drafted.write_text(json.dumps(survey(*ASKED) | {"groups": NAMES}))
    simulated = tmp_path / "made.parquet"
    truth = json.dumps(TRUTH | {"group": [0.5, 0.3, 0.2]})
    command = [
        "simulate",
        str(drafted),
        "-n",
        "1001",
        "--truth",
        truth,
        "--out",
        str(simulated),
        "--seed",
        "1",
    ]
    status, _, err = run(*command)
    assert status == 0, err
    assert pd.read_parquet(simulated)["group"].value_counts().to_dict() == {
        "Science": 501,
        "Arts": 300,
        "Law": 200,
    }
    truth = json.dumps(TRUTH | {"group": [1]})
    command = ["simulate", str(drafted), "-n", "9", "--truth", truth, "--out", str(simulated)]
    status, _, err = run(*command)
    assert (status, 'truth: "group" needs 3 shares from 0 to 1' in err) == (2, True)


def test_simulated_groups_have_their_own_truth() -> None:
    grouped = Survey.from_draft(survey(*ASKED) | {"groups": NAMES})
    columns = simulate_columns(grouped, 30_000, TRUTH, 3)
    yes = {name: columns["cheated"][columns["group"] == name].mean() for name in NAMES}
    rows = np.array(grouped.questions[0].channel.rows, dtype=float) / 2**53
    for name, shares in TRUTH["cheated"].items():  # type: ignore[attr-defined]
        assert yes[name] == pytest.approx(float(np.array(shares) @ rows[:, 1]), abs=0.02)
    with pytest.raises(AnalysisError, match=r"add up to 1\.5; make it 1"):
        simulate_columns(grouped, 10, TRUTH | {"group": [0.5, 0.5, 0.5]}, 3)


# The editor and the survey's page -------------------------------------------------------------------------------


def test_groups_are_named_in_the_editor(owner: FlaskClient, site_store: Store) -> None:
    draft = make_draft(site_store, "owner", *ASKED)
    address = f"/drafts/{draft.id}"
    typed = {"title": "Edited", "intro": "", "groups": "Science\r\n  Arts \r\n\r\nLaw\r\n"}
    assert submit(owner, address, **typed).status_code == 302
    assert re.search(r">\s*Science\s+Arts\s+Law</textarea>", owner.get(address).text)
    listed = html.unescape(owner.get(f"{address}/publish").text)
    assert (
        "3 groups, each with its own link: Science, Arts, Law. Every report names its group openly" in listed
    )
    assert "counted with" not in listed
    for wrong, message in (
        ("Science", "There is only one group; name two or more, or leave groups out."),
        ("Science\nscience", '"science" appears twice; give every group its own name.'),
        ("Science\nOther", "is what small groups are put together under"),
        ("Science\n" + "x" * 201, "Has 201 characters; keep at most 200."),
        ("\n".join(f"G{n}" for n in range(101)), "There are 101 groups; keep at most 100."),
    ):
        refused = submit(owner, address, **typed | {"groups": wrong})
        page = html.unescape(refused.text)
        assert refused.status_code == 422
        assert message in page, wrong
        assert '<a href="#groups">Groups</a>' in page
    assert submit(owner, address, **typed | {"groups": " \n"}).status_code == 302
    assert "groups" not in owner.get(f"{address}/definition.json").json


def test_each_group_has_its_link_qr_poster_and_invitations(owner: FlaskClient, site_store: Store) -> None:
    published = Survey.from_draft(survey(*ASKED, title="Handed out") | {"groups": NAMES})
    site_store.publish(published, "owner")
    page = owner.get(f"/surveys/{published.hash}").text
    for number, name in enumerate(NAMES):
        assert f"#{published.hash}.g{number}</textarea>" in page
        assert f"The link for {name}" in page
        assert owner.get(f"/surveys/{published.hash}/qr.svg?group={number}").mimetype == "image/svg+xml"
        poster = owner.get(f"/surveys/{published.hash}/poster?group={number}").text
        assert f'For: <strong dir="auto">{name}</strong>' in poster
        assert f"/s/{published.hash[:12]}#.g{number}" in poster
    assert (
        owner.get(f"/surveys/{published.hash}/qr.svg?group=0").data
        != owner.get(f"/surveys/{published.hash}/qr.svg?group=1").data
    )
    for wrong in ("", "?group=3", "?group=x"):
        assert owner.get(f"/surveys/{published.hash}/qr.svg{wrong}").status_code == 404
        assert owner.get(f"/surveys/{published.hash}/poster{wrong}").status_code == 404
    invited = Survey.from_draft(
        survey(*ASKED, title="Invited") | {"groups": NAMES, "settings": {"invitation": True}}
    )
    site_store.publish(invited, "owner")
    address = f"/surveys/{invited.hash}"
    response = submit(owner, f"{address}/invitations", address, n="3", group="Arts")
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["link"].partition("#")[2] for row in rows] == [
        f"{invited.hash}.g1.{row['code']}" for row in rows
    ]
    assert invitations.may_be_used(site_store, invited.hash, rows[0]["code"], 1)
    refused = submit(owner, f"{address}/invitations", address, n="3", group="Music")
    assert (refused.status_code, "is none of them; name one of Science" in html.unescape(refused.text)) == (
        422,
        True,
    )


# Waves ----------------------------------------------------------------------------------------------------------


def test_waves_compare_groups_by_name_and_say_what_changed(owner: FlaskClient, site_store: Store) -> None:
    first = collected(site_store, owner, "Wave", [0.4, 0.3, 0.3])
    series = {"name": "Wave", "wave": 2, "previous": first.hash}
    second = collected(
        site_store, owner, "Wave 2", [0.4, 0.3, 0.3], groups=["Arts", "Science", "Music"], series=series
    )
    page = html.unescape(owner.get(f"/surveys/{second.hash}/report/trend").text)
    assert "The groups are not those of the wave before (new: Music; no longer there: Law)." in page
    assert "Waves compare groups of the same name only." in page
    science = html.unescape(owner.get(f"/surveys/{second.hash}/report/trend?group=Science").text)
    assert "400 reports" in science
    assert "300 reports" in science
    assert "Change, 1 to 2" in science
    address = f"/surveys/{second.hash}/report/trend/{second.questions[0].id}.svg"
    assert f'href="{address}?group=Science" download>Picture (SVG)</a>' in science
    picture = owner.get(f"{address}?group=Science")
    assert picture.content_type == "image/svg+xml"
    assert picture.headers["Content-Disposition"].endswith(f'-waves-{second.hash[:12]}.svg"')
    assert "Wave: Science. 700 randomized reports;" in picture.text
    assert "Wave 2</text>" in picture.text
    assert owner.get(address.replace(".svg", "x.svg")).status_code == 404
    assert owner.get(f"{address}?group=Music").status_code == 422
    assert owner.get(f"{address}?group=Nobody").status_code == 422
    assert owner.application.test_client().get(address).status_code == 302
    music = html.unescape(owner.get(f"/surveys/{second.hash}/report/trend?group=Music").text)
    assert "“Music” is not shown on its own" in music
    assert "A change needs two waves with enough reports." in music
    assert owner.get(f"/surveys/{second.hash}/report/trend?group=Nobody").status_code == 422
    draft = make_draft(site_store, "owner", *ASKED)
    from hushpoll_server.workspace.drafts import storage

    third = {"name": "Wave", "wave": 3, "previous": second.hash}
    storage.save(site_store, draft.with_details(groups=NAMES, series=third), draft.revision)
    listed = html.unescape(owner.get(f"/drafts/{draft.id}/publish").text)
    assert "The groups are not those of the wave before (new: Law; no longer there: Music)." in listed


def test_a_copy_and_the_next_wave_keep_the_groups(
    owner: FlaskClient, site_store: Store, closed: Survey
) -> None:
    for way in ("copy", "again"):
        response = submit(owner, f"/surveys/{closed.hash}/{way}", f"/surveys/{closed.hash}")
        assert owner.get(f"{response.headers['Location']}/definition.json").json["groups"] == NAMES
