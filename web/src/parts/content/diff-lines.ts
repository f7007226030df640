export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'gap'
  readonly number: number | null
  readonly text: string
}

/** The lines of a unified diff with the numbers of the side they are on. */
export function linesOf(diff: string): DiffLine[] {
  const lines: DiffLine[] = []
  let [before, after] = [1, 1]
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line)
    if (hunk) {
      ;[before, after] = [Number(hunk[1]), Number(hunk[2])]
      if (lines.length > 0) lines.push({ kind: 'gap', number: null, text: '' })
    } else if (/^(?:---|\+\+\+|\\)/.test(line)) {
      // the names of the file, and the note about a missing newline
    } else if (line.startsWith('+')) lines.push({ kind: 'added', number: after++, text: line.slice(1) })
    else if (line.startsWith('-')) lines.push({ kind: 'removed', number: before++, text: line.slice(1) })
    else if (line.startsWith(' ')) {
      lines.push({ kind: 'same', number: after++, text: line.slice(1) })
      before += 1
    }
  }
  return lines
}
