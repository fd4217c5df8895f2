#!/bin/sh
# Says what a make target needs and this machine lacks, and how to get it, before anything is built.
#
#   tests/needs.sh go python gcc browser
set -u
cd "$(dirname "$0")/.."

GO=${GO:-go}
PYTHON=${PYTHON:-python3}
missing=0

lacks() { # what, why, how
	[ "$missing" -gt 0 ] || echo "This machine lacks:" >&2
	missing=$((missing + 1))
	printf '  %s: %s\n    %s\n' "$1" "$2" "$3" >&2
}

# The command that installs a package, by the names of Debian, Fedora and Homebrew.
install() {
	if command -v apt-get >/dev/null; then
		echo "sudo apt-get install $1"
	elif command -v dnf >/dev/null; then
		echo "sudo dnf install $2"
	elif command -v brew >/dev/null; then
		echo "brew install $3"
	else
		echo "install $1 with your system's package manager"
	fi
}

older() { # whether version $1 is older than version $2
	[ "$1" != "$2" ] && printf '%s\n%s\n' "$1" "$2" | awk -F. '
		NR == 1 { split($0, a, ".") } NR == 2 { split($0, b, ".") }
		END { for (i = 1; i <= 3; i++) if (a[i] + 0 != b[i] + 0) exit !(a[i] + 0 < b[i] + 0); exit 1 }'
}

needs_go() {
	wanted=$(awk '$1 == "go" { print $2; exit }' go.mod)
	how="https://go.dev/dl, or $(install golang golang go)"
	if ! command -v "$GO" >/dev/null; then
		lacks "Go $wanted or later" "there is no \"$GO\" in PATH" "$how"
		return
	fi
	# Without GOTOOLCHAIN=local an older go would download another one right here.
	has=$(GOTOOLCHAIN=local "$GO" env GOVERSION 2>/dev/null | sed 's/^go//; s/[^0-9.].*//')
	[ -n "$has" ] || { lacks "Go $wanted or later" "\"$GO env GOVERSION\" fails" "$how"; return; }
	older "$has" "$wanted" || return 0
	if older "$has" 1.21 || [ "$("$GO" env GOTOOLCHAIN 2>/dev/null)" = local ]; then
		lacks "Go $wanted or later" "this is $has, and it downloads no other" "$how"
	fi
}

needs_python() {
	wanted=3.10
	if ! command -v "$PYTHON" >/dev/null; then
		lacks "Python $wanted or later" "there is no \"$PYTHON\" in PATH" "$(install "python3 python3-venv" python3 python3)"
		return
	fi
	has=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
	if [ -z "$has" ] || older "$has" "$wanted"; then
		lacks "Python $wanted or later" "this is ${has:-one that does not start}" "$(install "python3 python3-venv" python3 python3), or make PYTHON=/path/to/another"
	elif ! "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null; then
		lacks "Python's venv" "$PYTHON has no module venv or ensurepip" "$(install python3-venv python3 python3)"
	fi
}

needs_gcc() {
	cc=${CC:-gcc}
	command -v "$cc" >/dev/null || command -v cc >/dev/null || command -v clang >/dev/null ||
		lacks "a C compiler" "there is no $cc, cc or clang in PATH" "$(install gcc gcc gcc)"
}

# The same choice as that of tests/browser/browser.sh.
needs_browser() {
	[ -z "${ROLLCALL_NO_BROWSER:-}" ] || return 0
	if [ -n "${CHROME:-}" ]; then
		command -v "$CHROME" >/dev/null || lacks "a browser" "CHROME is $CHROME, which cannot be run" "set CHROME to a Chrome or Chromium"
		return
	fi
	for name in google-chrome google-chrome-stable chromium chromium-browser \
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" \
		/Applications/Chromium.app/Contents/MacOS/Chromium; do
		command -v "$name" >/dev/null && return
	done
	how="$(install chromium chromium chromium), or leave the tests of pages out: make test ROLLCALL_NO_BROWSER=1"
	if [ "$(uname -s) $(uname -m)" = "Linux x86_64" ]; then
		command -v node >/dev/null && command -v npm >/dev/null && return
		lacks "Chrome or Chromium, or Node.js with npm" "none is in PATH" "$how"
		return
	fi
	lacks "Chrome or Chromium" "none is installed" "$how"
}

for need in "$@"; do
	"needs_$need"
done
[ "$missing" -eq 0 ]
