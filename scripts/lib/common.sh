# Sourced by the scripts beside this folder: finding the project, and installing what is missing.
# A machine may be bare, the caller may be root or not, and there may be no terminal: nothing here ever asks.

# A closed standard input would be reused by the first file that a program opens.
[ -e /proc/self/fd/0 ] || exec </dev/null

# Suites of root start programs of the build as another user, whatever umask the caller has.
umask 022

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# The build folder: build/ of the project, or another one for a caller who keeps several.
build=${LETHE_BUILD:-$top/build}

# Scripts name the system's interpreter: a python3 in PATH may be a version manager's shim without Debian's modules.
python=/usr/bin/python3
jobs=$(nproc 2>/dev/null || echo 2)

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
        bold=$'\e[1m' plain=$'\e[0m'
else
        bold='' plain=''
fi

say() {
        printf '%s==>%s %s\n' "$bold" "$plain" "$*"
}

die() {
        printf '%s: %s\n' "${0##*/}" "$*" >&2
        exit 1
}

# What is needed for each purpose, as Debian 12 names it.
packages_for() {
        case $1 in
        build)
                echo gcc libc6-dev musl-tools meson ninja-build pkgconf python3 scdoc libcriterion-dev \
                        libjansson-dev libsodium-dev liblmdb-dev libseccomp-dev libcap-dev libyaml-dev libpcre2-dev libstemmer-dev libsystemd-dev libcurl4-openssl-dev libssl-dev libc-ares-dev
                ;;
        package)
                echo dpkg-dev xz-utils
                ;;
        demo)
                echo python3 python3-lxml python3-markdown jq openssl golang-go golang-golang-x-mod-dev util-linux
                ;;
        test)
                echo python3 python3-lxml python3-markdown jq openssl golang-go golang-golang-x-mod-dev util-linux nodejs \
                        busybox tmux vim less procps stress-ng strace libsqlite3-dev libasan8 libubsan1 clang-format clang-tidy clang shellcheck git bash zsh fish man-db \
                        chromium-headless-shell prometheus python3-pip python3-venv python3-requests \
                        dpkg-dev lintian mmdebstrap
                # Node.js from elsewhere than Debian brings npm along, and does not go with Debian's.
                command -v npm >/dev/null || echo npm
                ;;
        programs)
                # LETHE_TEST_PROGRAMS=1
                echo libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui chromium default-jdk-headless golang-go rustc ruby pandoc ffmpeg imagemagick sqlite3
                ;;
        fuzz)
                echo clang libclang-rt-dev
                ;;
        bench)
                echo python3 util-linux bubblewrap firejail crun runc runsc libsqlite3-dev strace
                ;;
        postgres)
                echo postgresql libpq5
                ;;
        *)
                die "no such set of packages: $1"
                ;;
        esac
}

missing_packages() {
        local p
        for p in "$@"; do
                dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || echo "$p"
        done
}

apt_get() {
        local root=()
        if [ "$(id -u)" != 0 ]; then
                root=(sudo -n)
                # With a terminal sudo may ask for its password; without one it must not wait for it.
                [ -t 0 ] && root=(sudo)
        fi
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@" </dev/null
}

# need_packages SET...: installs what is missing of the sets, and says so. Does nothing when nothing is missing.
need_packages() {
        local set wanted=() missing log
        for set in "$@"; do
                # shellcheck disable=SC2207 # package names have no spaces
                wanted+=($(packages_for "$set"))
        done
        if ! command -v dpkg-query >/dev/null; then
                say "this is not Debian: make sure that what these packages hold is there: ${wanted[*]}"
                return 0
        fi
        missing=$(missing_packages "${wanted[@]}" | sort -u | tr '\n' ' ')
        [ -n "$missing" ] || return 0
        if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
                die "these packages are missing, and installing them takes root: apt-get install $missing"
        fi
        say "installing with apt-get: $missing"
        log=$(mktemp "${TMPDIR:-/tmp}/lethe-apt.XXXXXX")
        if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
                apt_get -q update >"$log" 2>&1 || true
        fi
        # The package lists may be too old for what the mirror holds now: a second try with new ones.
        # shellcheck disable=SC2086 # one word a package
        if ! apt_get -q -y install --no-install-recommends $missing >>"$log" 2>&1; then
                apt_get -q update >>"$log" 2>&1 || true
                if ! apt_get -q -y install --no-install-recommends $missing >>"$log" 2>&1; then
                        tail -n 20 "$log" >&2
                        rm -f "$log"
                        die "apt-get could not install: $missing"
                fi
        fi
        rm -f "$log"
}

# configure_in DIR [meson options]: configures DIR when it is not. Output is shown when something fails.
configure_in() {
        local dir=$1 log source=$top
        shift
        [ ! -e "${dir%/*}/meson.build" ] || source=${dir%/*}
        [ ! -e "$dir/build.ninja" ] || return 0
        log=$(mktemp "${TMPDIR:-/tmp}/lethe-build.XXXXXX")
        say "configuring ${dir#"$top"/}"
        meson setup "$dir" "$source" "$@" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; die "meson setup failed"; }
        rm -f "$log"
}

# start_from BUILD DIR [options of tar]: a build folder of the same sources gets the outputs of BUILD, with Ninja's records. Ninja then makes those anew that
# have another command (the folder's path is in it, an option differs) or are older than their sources.
start_from() {
        local from=$1 to=$2
        shift 2
        # Tests run there: a file that comes and goes is none of Ninja's.
        (tar -C "$from" --format=posix --exclude=./build.ninja --exclude=./compile_commands.json --exclude='./meson-*' --exclude=./package "$@" -cf - . || [ $? = 1 ]) |
                tar -C "$to" -xf - --no-same-owner
}

# build_in DIR [targets]: builds the targets, or everything. Output is shown when something fails.
build_in() {
        local dir=$1 log
        shift
        configure_in "$dir"
        log=$(mktemp "${TMPDIR:-/tmp}/lethe-build.XXXXXX")
        say "building ${dir#"$top"/}"
        ninja -C "$dir" -j "$jobs" "$@" >"$log" 2>&1 || { tail -n 60 "$log" >&2; rm -f "$log"; die "the build failed"; }
        rm -f "$log"
}
