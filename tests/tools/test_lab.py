"""`make lab` starts JupyterLab with the course's own style sheet."""

import ast
from pathlib import Path

from tools import lab


def test_jupyterlab_gets_a_style_for_pictures_on_a_dark_page(tmp_path: Path):
    words = lab.command(tmp_path)
    [given] = [
        word for word in words if word.startswith("--ServerApp.tornado_settings")
    ]
    [folder] = ast.literal_eval(given.partition("=")[2])["static_custom_path"]
    style = (Path(folder) / "custom.css").read_text(encoding="utf-8")
    assert 'data-jp-theme-light="false"' in style
    assert "filter" in style
    assert "--LabApp.custom_css=True" in words
