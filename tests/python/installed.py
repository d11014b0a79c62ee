"""How tests start pytest with the plugin: an installed package has it already."""

from importlib.metadata import entry_points

IS_INSTALLED = any(point.value == "tutti._pytest_plugin" for point in entry_points(group="pytest11"))
PYTEST = ["-m", "pytest", "-p", "no:cacheprovider", *([] if IS_INSTALLED else ["-p", "tutti._pytest_plugin"])]
