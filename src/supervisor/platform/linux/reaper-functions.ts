/** For the reaper: reads /proc. A process may have any name. */
export const LINUX_FUNCTIONS = `
read_table() { :; }

start_of() {
  stat=
  [ -r "/proc/$1/stat" ] && while read -r line; do stat="$stat $line"; done <"/proc/$1/stat"
  set -- \${stat##*) }
  start=\${20}
}

list_processes() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk 'match($0, /^[0-9]+ .*\\) /) {
    split(substr($0, RLENGTH + 1), field, " ")
    print $1, field[2], field[4], field[20]
  }'
}

list_marked() {
  for file in $(grep -alF "$mark" /proc/[0-9]*/environ 2>/dev/null); do
    file=\${file#/proc/}
    echo "\${file%/environ}"
  done
}
`
