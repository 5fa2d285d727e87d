// Builds the page into src/everalign/service/static, or with --check says whether what is there
// is what the sources make.
import { readFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "src", "everalign", "service", "static");

async function makeFiles() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.tsx" },
    outdir: target,
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    target: ["chrome123", "firefox120", "safari17.5"], // the first with light-dark() in CSS
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "utf8",
    logLevel: "warning",
  });
  const files = new Map();
  for (const file of result.outputFiles) files.set(file.path.slice(target.length + 1), file.text);
  files.set("index.html", await readFile(join(here, "src", "index.html"), "utf8"));
  const license = await readFile(join(here, "node_modules", "preact", "LICENSE"), "utf8");
  files.set("licenses.txt", `app.js contains Preact:\n\n${license.replaceAll("\r\n", "\n")}`);
  return files;
}

const files = await makeFiles();
if (process.argv.includes("--check")) {
  const stale = [];
  for (const [name, text] of files) {
    const built = await readFile(join(target, name), "utf8").catch(() => "");
    if (built !== text) stale.push(name);
  }
  if (stale.length > 0) {
    console.error(`not up to date: ${stale.join(", ")}; run \`make page\``);
    process.exit(1);
  }
} else {
  await mkdir(target, { recursive: true });
  for (const [name, text] of files) await writeFile(join(target, name), text);
}
