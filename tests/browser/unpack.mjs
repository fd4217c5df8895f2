// Unpacks the browser, the libraries it needs and fonts from the packages of
// package.json, here, and puts a script beside them that starts it.
import {createReadStream, createWriteStream, cpSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {pipeline} from 'node:stream/promises';
import {createBrotliDecompress} from 'node:zlib';
import {extract} from 'tar-fs';

const from = 'node_modules/@sparticuz/chromium/bin/';
const open = (name) => [createReadStream(from + name), createBrotliDecompress()];

await pipeline(...open('chromium.br'), createWriteStream('chromium', {mode: 0o755}));
await pipeline(...open('swiftshader.tar.br'), extract('.')); // it is looked for beside the browser
await pipeline(...open('al2023.tar.br'), extract('.')); // lib
await pipeline(...open('fonts.tar.br'), extract('.')); // fonts
cpSync('node_modules/dejavu-fonts-ttf/ttf/DejaVuSansMono.ttf', 'fonts/DejaVuSansMono.ttf');
cpSync('node_modules/dejavu-fonts-ttf/ttf/DejaVuSansMono-Bold.ttf', 'fonts/DejaVuSansMono-Bold.ttf');
rmSync('node_modules', {recursive: true});

// A relative cache would be below the folder in which the browser is started.
const here = process.cwd().replaceAll('&', '&amp;').replaceAll('<', '&lt;');
// No other fonts, so that a page looks the same everywhere.
const alias = (family, font) => `<alias binding="same"><family>${family}</family><prefer><family>${font}</family></prefer></alias>`;
writeFileSync('fonts.conf', `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir prefix="relative">fonts</dir>
<cachedir>${here}/fonts/cache</cachedir>
${['sans-serif', 'system-ui', 'Arial', 'Helvetica'].map((f) => alias(f, 'Open Sans')).join('\n')}
${['monospace', 'ui-monospace', 'Menlo', 'Consolas'].map((f) => alias(f, 'DejaVu Sans Mono')).join('\n')}
</fontconfig>
`);
writeFileSync('chrome.new', `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here/lib" FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/chromium" --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader "$@"
`, {mode: 0o755});
renameSync('chrome.new', 'chrome'); // last: a script that is there can be run
