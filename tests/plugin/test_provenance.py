"""Reports say which commit was checked, by which job, and where the settings are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcp_approval.session.provenance import ci_lines, settings_place

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GITHUB = {
    "GITHUB_SERVER_URL": "https://github.example",
    "GITHUB_REPOSITORY": "acme/shop",
    "GITHUB_RUN_ID": "42",
}


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, {}),
        (
            {**GITHUB, "GITHUB_SHA": COMMIT},
            {"commit": COMMIT, "job": "https://github.example/acme/shop/actions/runs/42"},
        ),
        (
            {"CI_COMMIT_SHA": COMMIT, "CI_JOB_URL": "https://gitlab.example/acme/-/jobs/7"},
            {"commit": COMMIT, "job": "https://gitlab.example/acme/-/jobs/7"},
        ),
        ({"GITHUB_SHA": "main; rm", "CI_JOB_URL": "javascript:alert(1)"}, {}),
        ({**GITHUB, "GITHUB_RUN_ID": '1"><script>'}, {}),
    ],
)
def test_what_a_ci_system_says(environment, told):
    assert dict(ci_lines(environment)) == told


def test_the_settings_file_is_named_from_the_root_of_the_repository(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "servers" / "shop"
    folder.mkdir(parents=True)
    assert settings_place(folder, folder) is None
    (folder / "pyproject.toml").write_text(
        '[tool.other]\ntarget = 1\n\n[tool.mcp-approval]\nstrict = true\ntarget = "x"\n'
    )
    assert settings_place(tmp_path, folder) == ("servers/shop/pyproject.toml", 6)
    (folder / "mcp-approval.toml").write_text("strict = true\n")
    assert settings_place(tmp_path, folder) == ("servers/shop/mcp-approval.toml", 1)
