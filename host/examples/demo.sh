#!/bin/bash
# The main job on real data: the dependency graph of this machine's packages.
# Environment: PURE_RUN, BFS_RUN (programs), SRC (root), BUILD (build folder).  $1: a package.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$SRC/host/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
needs=$work/needs.tsv
store=$work/deps.snapshot

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi

step() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

# run ARGS...: shows the command as one would type it, then runs it.
run() {
  local shown="pure-run $*"
  shown=${shown//$here\//}
  printf '%s$ %s%s\n' "$dim" "${shown//$work\//}" "$plain"
  "$PURE_RUN" --format table "$@"
}

# shorten N: the first lines of a table, and how many more there were.
shorten() { awk -v n="$1" 'NR <= n { print } END { if (NR > n) print "... " NR - n " more lines" }'; }

step "The package graph of this machine"
available=$work/available
apt-cache dumpavail >"$available" 2>/dev/null || : >"$available"
packages=$(grep -c '^Package:' "$available" || true)
if [ "$packages" -ge 10000 ]; then
  awk -f "$here/needs.awk" "$available" >"$needs"
  package=${1:-gnome}
  grep -q "^$package	" "$needs" || package=$(awk 'NR == 2 { print $1 }' "$needs")
else
  echo "apt has no package lists here; a made-up graph of the same size is used instead."
  awk -f "$here/synthetic.awk" >"$needs"
  package=pkg-55000
  grep -q "^$package	" "$needs" || package=$(awk 'END { print $1 }' "$needs")
fi
echo "$(($(wc -l <"$needs") - 1)) dependencies by name"

step "Names become numbers: one event, then the store is saved"
run "$here/deps.pure" --load needs="$needs" number --save "$store"
run "$here/deps.pure" --load "$store" size

step "What does $package pull in?"
run "$here/deps.pure" --load "$store" pulls_in "$package" | shorten 16
step "How deep?"
run "$here/deps.pure" --load "$store" depths "$package"
step "What does everyone need?"
run "$here/deps.pure" --load "$store" most_needed 8

step "The search alone, 21 times"
number=$("$PURE_RUN" --format csv "$here/deps.pure" --load "$store" number_of "$package" | tail -n 1)
run "$here/deps.pure" --load "$store" --repeat 21 --stats reach "$number"

step "Breadth-first search beside plain C: the same graph, answers compared node by node"
"$BFS_RUN" --nodes 100000 --edges 1000000 --rounds 7 --levels 0,1,2,3 2>/dev/null ||
  "$BFS_RUN" --nodes 100000 --edges 1000000 --rounds 7 --levels 0 # no compiled tiers in this build
