import {
  afterBlanks,
  beforeBlanks,
  lastComment,
  lineStartOf,
  type Splice,
  tailAfter,
} from './between-tokens.ts'
import type { Level } from './path.ts'
import { isAllBlank, lineBefore } from './style.ts'
import type { Member } from './tree.ts'

/**
 * What to cut so that the member is gone: itself, its comma, the rest of its last line, and the line when it was
 * alone there. The exact opposite of adding one behind others.
 */
export function cutsFor(text: string, { container, index }: Level): Splice[] {
  const member = container.members[index]
  if (member === undefined) return []
  const previous = container.members[index - 1]
  const leads = previous !== undefined && hasCommaInFront(text, member)
  const comma = leads ? undefined : member.comma
  const behind = tailAfter(text, member.node.end, 'one line')
  const end = comma !== undefined && behind.stop === comma ? comma + 1 : member.node.end
  const before = leads ? previous.node.end : (previous?.comma ?? container.start) + 1
  const gap = { start: before, close: container.end - 1, leads }
  const entry = entryCut(text, member.start, end, gap)

  const cuts = [entry]
  if (comma !== undefined && comma >= entry.end) cuts.push(cut(comma, comma + 1))
  const inFront = member.comma === undefined || leads ? previous?.comma : undefined
  if (inFront !== undefined && inFront < entry.start) cuts.unshift(cut(inFront, inFront + 1))
  return cuts
}

/** Some write the comma at the beginning of the next line. Then that one belongs to the entry. */
function hasCommaInFront(text: string, { start, node, comma }: Member): boolean {
  if (!/^[ \t\r]*,[ \t\r]*$/.test(lineBefore(text, start))) return false
  return comma === undefined || tailAfter(text, node.end, 'one line').stop !== comma
}

interface Gap {
  /** Behind the comma or bracket before the entry; behind the one before when the comma goes, too. */
  readonly start: number
  /** The bracket that closes the container. */
  readonly close: number
  readonly leads: boolean
}

function entryCut(text: string, start: number, end: number, gap: Gap): Splice {
  const tail = tailAfter(text, end, 'one line')
  const beginsLine = gap.leads || isAllBlank(lineBefore(text, start))
  const lineStart = lineStartOf(text, start)
  if (beginsLine && tail.nextLine !== undefined) return cut(lineStart, tail.nextLine)
  // A comment before the next neighbour on this line is that neighbour's.
  if (tail.nextLine === undefined && tail.stop !== gap.close) return cut(start, afterBlanks(text, end))
  if (!beginsLine) return cut(beforeBlanks(text, start), tail.end)
  // The bracket on this line must not end up behind the comment on the line above.
  if (lastComment(text, gap.start, start)?.isLine) return cut(start, tail.end)
  return cut(text[lineStart - 2] === '\r' ? lineStart - 2 : lineStart - 1, tail.end)
}

function cut(start: number, end: number): Splice {
  return { start, end, insert: '' }
}
