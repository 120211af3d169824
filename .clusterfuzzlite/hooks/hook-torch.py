"""How PyInstaller packs torch: with its sources, which Dynamo reads and Inductor compiles."""

from PyInstaller.utils.hooks import collect_data_files, collect_dynamic_libs, collect_submodules

hiddenimports = collect_submodules("torch", filter=lambda name: "testing" not in name.split("."))
datas = collect_data_files("torch")
binaries = collect_dynamic_libs("torch")
module_collection_mode = "pyz+py"
