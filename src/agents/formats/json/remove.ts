import { deletion, lineStart, type Splice } from '../text.ts'
import { afterBlanks, beforeBlanks, lastComment, tailAfter } from './between-tokens.ts'
import type { Level } from './path.ts'
import { isAllBlank, lineBefore } from './style.ts'
import type { Member } from './tree.ts'

/**
 * Removes a member with its comma, the rest of its last line, and its line if nothing else is on it. Exactly undoes
 * an addition after other members.
 */
export function removalOf(text: string, { container, index }: Level): Splice[] {
  const member = container.members[index]
  if (member === undefined) return []
  const previous = container.members[index - 1]
  const leads = previous !== undefined && hasCommaInFront(text, member)
  const comma = leads ? undefined : member.comma
  const tail = tailAfter(text, member.node.end, 'on one line')
  const end = comma !== undefined && tail.stop === comma ? comma + 1 : member.node.end
  const before = leads ? previous.node.end : (previous?.comma ?? container.start) + 1
  const gap = { start: before, close: container.end - 1, leads }
  const entry = entryCut(text, member.start, end, gap)

  const cuts = [entry]
  if (comma !== undefined && comma >= entry.end) cuts.push(deletion(comma, comma + 1))
  const inFront = member.comma === undefined || leads ? previous?.comma : undefined
  if (inFront !== undefined && inFront < entry.start) cuts.unshift(deletion(inFront, inFront + 1))
  return cuts
}

/** In comma-first style the comma at the start of a line belongs to the entry after it. */
function hasCommaInFront(text: string, { start, node, comma }: Member): boolean {
  if (!/^[ \t\r]*,[ \t\r]*$/.test(lineBefore(text, start))) return false
  return comma === undefined || tailAfter(text, node.end, 'on one line').stop !== comma
}

interface Gap {
  /** After the comma or bracket before the entry; after the previous entry if that comma is removed too. */
  readonly start: number
  /** The offset of the closing bracket. */
  readonly close: number
  readonly leads: boolean
}

function entryCut(text: string, start: number, end: number, gap: Gap): Splice {
  const tail = tailAfter(text, end, 'on one line')
  const beginsLine = gap.leads || isAllBlank(lineBefore(text, start))
  const line = lineStart(text, start)
  if (beginsLine && tail.nextLine !== undefined) return deletion(line, tail.nextLine)
  // A comment before the next entry on this line belongs to that entry.
  if (tail.nextLine === undefined && tail.stop !== gap.close) return deletion(start, afterBlanks(text, end))
  if (!beginsLine) return deletion(beforeBlanks(text, start), tail.end)
  // The closing bracket must not move into the comment on the line above.
  if (lastComment(text, gap.start, start)?.isLine) return deletion(start, tail.end)
  return deletion(text[line - 2] === '\r' ? line - 2 : line - 1, tail.end)
}
