"""How the documentation is built: `make docs`."""

import sys
from pathlib import Path

import eifffel

HERE = Path(__file__).parent
# The picture of the layers is drawn from the list that the tests hold.
sys.path += [str(HERE / "_ext"), str(HERE.parent / "tests")]

project = "eifffel"
author = "The eifffel authors"
release = eifffel.__version__
version = release

extensions = [
    "files",  # this, mathml and pictures are in _ext
    "mathml",
    "myst_parser",
    "numpydoc",
    "pictures",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
html_static_path = ["_static"]
exclude_patterns = [
    "_build",
    "made",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/*.md5",
    "sg_execution_times.rst",
    # They stand on the page above them.
    "results/reproduction/tables",
]
nitpicky = False

# Pages are Markdown, so that they can be read in the repository as well.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_use_plots = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# A blank in the path of the clone is none in the names of the examples, and breaks no link.
suppress_warnings = ["sphinx_gallery.space_in_filename"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "show_memory": False,
    "write_computation_times": False,
    "doc_module": ("eifffel",),
    "backreferences_dir": "gallery/backreferences",
    "matplotlib_animations": False,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "eifffel"
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "header_links_before_dropdown": 8,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "start": [], "changes": [], "gallery/index": []}
html_css_files = ["eifffel.css"]
copyright = "The eifffel authors, Apache-2.0"
