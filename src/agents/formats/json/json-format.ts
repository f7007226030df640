import type { Dialect } from '../../catalogue/agent-record.ts'
import { isSame, itemOf, type Json, type Path } from '../../catalogue/json-value.ts'
import { MAX_BYTES } from '../config-text.ts'
import type { Format } from '../format.ts'
import { refusal } from '../text.ts'
import { type Parsed, type Proposal, verifiedFormat } from '../verified-format.ts'
import { addEntry, replaceValue } from './json-add.ts'
import { assertWritable, memberAt, valueFrom, walk } from './json-path.ts'
import { removeEntry, traceOf } from './json-remove.ts'
import { readPlain } from './json-second-parser.ts'
import { jsonOf, type Node, parseTree } from './json-tree.ts'

interface ParsedJson extends Parsed {
  readonly root: Node | undefined
}

/** JSON, with the extensions that the dialect allows. */
export const jsonFormat = (dialect: Dialect): Format =>
  verifiedFormat<ParsedJson>({
    // About 0.1 s of CPU time per MiB. Claude Code keeps its history in such a file, which grows to several MiB.
    maxBytes: MAX_BYTES,
    acceptsBom: dialect.bom,
    parse(text) {
      const root = parseTree(text, dialect)
      let json: Json | undefined
      return {
        text,
        root,
        get json() {
          json ??= root && jsonOf(root)
          return json
        },
      }
    },
    readAgain: (text) => readPlain(text, dialect),
    find: ({ text, root }, path) => memberAt(walk(text, root, path), path)?.start,
    set,
    remove({ text, root }, path, trace) {
      const levels = walk(text, root, path)
      const member = memberAt(levels, path)
      return {
        text: member === undefined ? text : removeEntry(text, levels, path, trace),
        at: member?.start ?? 0,
      }
    },
  })

function set({ text, root }: ParsedJson, path: Path, value: Json): Proposal<ParsedJson> {
  assertWritable(value, path.length)
  const levels = walk(text, root, path)
  const containers = levels.map(({ container }) => container).reverse()
  const member = memberAt(levels, path)
  if (member !== undefined) {
    const step = path.at(-1)
    const item = typeof step === 'object' ? itemOf(step, value) : value
    const isUnchanged = isSame(jsonOf(member.node), item)
    return { text: isUnchanged ? text : replaceValue(text, containers, member, item), at: member.start }
  }
  const depth = levels.length - 1
  const step = path[Math.max(depth, 0)]
  if (step === undefined || (depth === -1 && typeof step !== 'string'))
    throw refusal(text, 0, 'The top of this file must be an object { }')
  const added = addEntry(text, containers, step, valueFrom(path, Math.max(depth, 0), value))
  return {
    text: added.text,
    at: containers[0]?.start ?? 0,
    trace: traceOf({ path: path.slice(0, -1), depth, blank: added.blank }),
  }
}
