#!/bin/sh
# Prints the path of a browser: $CHROME, or else a Chrome or Chromium that is installed,
# or else the one that package.json pins, which is installed below .build first. With
# --pinned it is that one in any case. With --axe it prints the path of axe-core instead, which
# is installed below .build, too.
set -eu
cd "$(dirname "$0")"

if [ "${1:-}" = --axe ]; then
	command -v npm >/dev/null || { echo "no axe-core for the tests of pages: install Node.js with npm" >&2; exit 1; }
	mkdir -p ../../.build/axe
	build=$(cd ../../.build/axe && pwd)
	if ! cmp -s axe/package-lock.json "$build/package-lock.json" || [ ! -f "$build/node_modules/axe-core/axe.min.js" ]; then
		cp axe/package.json axe/package-lock.json "$build"
		(cd "$build" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2
	fi
	echo "$build/node_modules/axe-core/axe.min.js"
	exit
fi

fail() {
	echo "no browser for the tests of pages: $1; or set CHROME to a Chrome or Chromium" >&2
	exit 1
}

if [ "${1:-}" != --pinned ]; then
	if [ -n "${CHROME:-}" ]; then
		command -v "$CHROME" || fail "CHROME is $CHROME, which cannot be run"
		exit
	fi
	for name in google-chrome google-chrome-stable chromium chromium-browser \
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
		/Applications/Chromium.app/Contents/MacOS/Chromium; do
		command -v "$name" && exit
	done
fi

[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || fail "the pinned one is for Linux on x86-64 alone: install Chrome or Chromium"
mkdir -p ../../.build
build=$(cd ../../.build && pwd)/browser
if ! cmp -s package-lock.json "$build/package-lock.json" || ! cmp -s unpack.mjs "$build/unpack.mjs" || [ ! -x "$build/chrome" ]; then
	command -v node npm >/dev/null || fail "install Chrome or Chromium, or Node.js with npm"
	rm -rf "$build"
	mkdir "$build"
	cp package.json package-lock.json unpack.mjs "$build"
	(cd "$build" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && node unpack.mjs) >&2
fi
echo "$build/chrome"
