// JSON as it was written: the digits of numbers, the escapes of strings, the order of keys and repeated keys are kept.

/**
 * @returns a node: `{ kind: 'object', members: [{ key, value }], text }`, `{ kind: 'array', items, text }` or
 * `{ kind: 'scalar', text }`, where `text` is the source of the node
 */
export function parseExact(text) {
  let at = 0
  const fail = () => {
    throw new SyntaxError(`not JSON at position ${at}: ${text.slice(at, at + 40)}`)
  }
  const space = () => {
    while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1
  }
  const take = (pattern) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? fail()
    at += found.length
    return found
  }
  /** Reads the parts of an object or array up to the closing character. */
  const parts = (close, read) => {
    const found = []
    at += 1
    space()
    if (text[at] === close) {
      at += 1
      return found
    }
    for (;;) {
      space()
      found.push(read())
      space()
      if (text[at] === close) break
      if (text[at] !== ',') fail()
      at += 1
    }
    at += 1
    return found
  }
  const member = () => {
    const key = JSON.parse(take(STRING))
    space()
    if (text[at] !== ':') fail()
    at += 1
    return { key, value: value() }
  }
  function value() {
    space()
    const start = at
    const sourceOf = (node) => ({ ...node, text: text.slice(start, at) })
    if (text[at] === '{') return sourceOf({ kind: 'object', members: parts('}', member) })
    if (text[at] === '[') return sourceOf({ kind: 'array', items: parts(']', value) })
    return { kind: 'scalar', text: take(SCALAR) }
  }
  const node = value()
  space()
  if (at < text.length) fail()
  return node
}

const STRING = /"(?:[^"\\]|\\.)*"/y
const SCALAR = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** The value of the first member with this key, or undefined. */
export const memberOf = (node, key) =>
  node?.kind === 'object' ? node.members.find((member) => member.key === key)?.value : undefined

/** A copy of an object node with another value for a key. */
export const withMember = (node, key, value) => ({
  ...node,
  members: node.members.map((member) => (member.key === key ? { key, value } : member)),
})

export const withoutMember = (node, key) => ({
  ...node,
  members: node.members.filter((member) => member.key !== key),
})

/** The decoded string, or undefined for any other node. */
export const stringOf = (node) =>
  node?.kind === 'scalar' && node.text.startsWith('"') ? JSON.parse(node.text) : undefined

export const scalar = (value) => ({ kind: 'scalar', text: JSON.stringify(value) })

/**
 * Every difference between two nodes: `{ path, kind, direct, gateway }`. A path is a JSON pointer in which the items of a list
 * of definitions have their names instead of their positions. The kind is `missing`, `added`, `order`, `value`, or `spelling`
 * for the same number or string in other characters.
 */
export function differences(direct, gateway, path = '') {
  if (direct.kind !== gateway.kind) return [difference(path, direct.text, gateway.text)]
  if (direct.kind === 'object') return differentMembers(direct, gateway, path)
  if (direct.kind === 'array') return differentItems(direct, gateway, path)
  return direct.text === gateway.text ? [] : [difference(path, direct.text, gateway.text)]
}

function difference(path, direct, gateway) {
  const kind = direct === undefined ? 'added' : gateway === undefined ? 'missing' : kindOf(direct, gateway)
  return { path, kind, direct, gateway }
}

function kindOf(direct, gateway) {
  const isString = direct.startsWith('"') && gateway.startsWith('"')
  if (isString) return JSON.parse(direct) === JSON.parse(gateway) ? 'spelling' : 'value'
  return NUMBER.test(direct) && NUMBER.test(gateway) && decimal(direct) === decimal(gateway)
    ? 'spelling'
    : 'value'
}
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The same text for every spelling of a number. */
function decimal(text) {
  const [, sign, whole, fraction = '', exponent = '0'] = NUMBER.exec(text)
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  return `${sign}${significant}e${significant === '' ? 0 : Number(exponent) - fraction.length + digits.length - significant.length}`
}

function differentMembers(direct, gateway, path) {
  return different(numbered(direct.members), numbered(gateway.members), path)
}

function differentItems(direct, gateway, path) {
  const [ours, theirs] = [named(direct.items), named(gateway.items)]
  if (ours && theirs) return different(ours, theirs, path)
  const byIndex = (items) => items.map((value, index) => ({ key: String(index), value }))
  return different(byIndex(direct.items), byIndex(gateway.items), path)
}

function different(direct, gateway, path) {
  const ours = new Map(direct.map(({ key, value }) => [key, value]))
  const theirs = new Map(gateway.map(({ key, value }) => [key, value]))
  const at = (key) => `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const found = []
  for (const [key, value] of ours) {
    const other = theirs.get(key)
    found.push(...(other ? differences(value, other, at(key)) : [difference(at(key), value.text, undefined)]))
  }
  for (const [key, value] of theirs)
    if (!ours.has(key)) found.push(difference(at(key), undefined, value.text))
  const order = (map, other) => [...map.keys()].filter((key) => other.has(key)).join()
  const [before, after] = [order(ours, theirs), order(theirs, ours)]
  return before === after ? found : [...found, { path, kind: 'order', direct: before, gateway: after }]
}

/** A repeated key gets a number, so that each of its values is compared. */
function numbered(members) {
  const seen = new Map()
  return members.map(({ key, value }) => {
    const count = (seen.get(key) ?? 0) + 1
    seen.set(key, count)
    return { key: count === 1 ? key : `${key} (${count})`, value }
  })
}

/** The items by name, if each has a name of its own. */
function named(items) {
  const keys = items.map((item) =>
    stringOf(memberOf(item, 'name') ?? memberOf(item, 'uriTemplate') ?? memberOf(item, 'uri')),
  )
  if (keys.includes(undefined) || new Set(keys).size < keys.length) return undefined
  return items.map((value, index) => ({ key: keys[index], value }))
}
