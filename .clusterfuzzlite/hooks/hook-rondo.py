"""How PyInstaller packs Rondo: every module, since adapters, constructs and architectures are found
by looking through their folders, with its source, since Dynamo reads the source of what it traces.
"""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("rondo")
datas = collect_data_files("rondo")
module_collection_mode = "pyz+py"
