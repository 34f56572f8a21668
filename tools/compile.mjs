// Compile the modules of an archive with the Python that will import them.
// node compile.mjs FOLDER-OF-PYODIDE SOURCE.zip TARGET.zip
// The browser is spared the compiling. Some packages read their own sources, so those stay.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, source, target] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${folder}/` });
python.unpackArchive(new Uint8Array(fs.readFileSync(source)), "zip", { extractDir: "/source" });
python.runPython(`
import pathlib, py_compile, zipfile

READ = {"agentlib", "anyio", "course", "offline_api", "packaging", "session_report", "windtunnel"}
root = pathlib.Path("/source")
compiled = pathlib.Path("/compiled")
how = {"doraise": True, "invalidation_mode": py_compile.PycInvalidationMode.UNCHECKED_HASH}
with zipfile.ZipFile("/target.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        name = path.relative_to(root)
        is_read = name.parts[0] in READ
        if path.suffix != ".py" or is_read:
            archive.writestr(str(name), path.read_bytes())
        if path.suffix == ".py":
            shown = f"/lib/python3.14/site-packages/{name}"
            py_compile.compile(path, compiled, shown, optimize=0 if is_read else 2, **how)
            cached = name.parent / "__pycache__" / f"{name.stem}.cpython-314.pyc"
            archive.writestr(str(cached if is_read else f"{name}c"), compiled.read_bytes())
`);
fs.writeFileSync(target, python.FS.readFile("/target.zip"));
