/** Whether a URI may have been made from a template of RFC 6570, and how much of it the template says literally. */
export interface UriTemplate {
  readonly literal: number
  readonly matches: (uri: string) => boolean
}

/** Moves the places that can be reached in the URI past one part of the template. */
type Step = (reached: Uint8Array, uri: string) => Uint8Array

const MAX_TEMPLATE = 2048
const MAX_URI = 4096
const MAX_EXPRESSIONS = 16
const EXPRESSION = /\{([^{}]*)\}/g
const NAME = /^[\w.%-]{1,64}(?::\d{1,4}|\*)?$/

/**
 * Undefined when it is none that we understand. The parts are followed one by one with all places that can be reached, and
 * not with a regular expression: `{+a}{+b}{+c}x` of a server that means ill takes no longer than any other.
 */
export function readTemplate(template: string): UriTemplate | undefined {
  if (template.length > MAX_TEMPLATE) return undefined
  const steps: Step[] = []
  let prefix: string | undefined
  let [at, literal] = [0, 0]
  const say = (text: string) => {
    prefix ??= text
    literal += text.length
    if (text) steps.push((reached, uri) => past(reached, uri, text))
  }
  for (const match of template.matchAll(EXPRESSION)) {
    const own = stepsOf(match[1] ?? '')
    if (!own || steps.length > MAX_EXPRESSIONS * 2) return undefined
    say(template.slice(at, match.index))
    steps.push(...own)
    at = match.index + match[0].length
  }
  const rest = template.slice(at)
  if (/[{}]/.test(rest)) return undefined
  say(rest)
  const start = prefix ?? ''
  return { literal, matches: (uri) => uri.startsWith(start) && isReached(steps, uri) }
}

function isReached(steps: readonly Step[], uri: string): boolean {
  if (uri.length > MAX_URI) return false
  let reached: Uint8Array = new Uint8Array(uri.length + 1)
  reached[0] = 1
  for (const step of steps) {
    reached = step(reached, uri)
    if (!reached.includes(1)) return false
  }
  return reached[uri.length] === 1
}

function stepsOf(expression: string): Step[] | undefined {
  const operator = /^[+#./;?&]/.exec(expression)?.[0] ?? ''
  const names = expression.slice(operator.length).split(',')
  if (!names.every((name) => NAME.test(name))) return undefined
  const explodes = names.some((name) => name.endsWith('*'))
  switch (operator) {
    case '':
      return [some(SEGMENT)]
    case '+':
      return [some(ANYTHING)]
    case '#':
      return [(reached, uri) => past(reached, uri, '#'), some(ANYTHING)]
    case '/':
      if (explodes) return [(reached, uri) => past(reached, uri, '/'), some(ANYTHING)]
      return names.flatMap(() => [(reached, uri) => past(reached, uri, '/'), some(SEGMENT)])
    case '.':
      return names.flatMap(() => [(reached, uri) => past(reached, uri, '.'), some(SEGMENT)])
    default:
      return [pairs(operator, operator === ';' ? ';' : '&', explodes ? undefined : new Set(names.map(bare)))]
  }
}

const SLASH = 0x2f
const SEGMENT = (code: number): boolean => code !== SLASH
const ANYTHING = (): boolean => true

const bare = (name: string): string => name.replace(/[:*].*$/, '')

function past(reached: Uint8Array, uri: string, text: string): Uint8Array {
  const next = new Uint8Array(reached.length)
  for (let at = uri.indexOf(text); at !== -1; at = uri.indexOf(text, at + 1))
    if (reached[at] === 1) next[at + text.length] = 1
  return next
}

/** One character or more of a kind. */
function some(isMeant: (code: number) => boolean): Step {
  return (reached, uri) => {
    const next = new Uint8Array(reached.length)
    for (let at = 0; at < uri.length; at += 1)
      if ((reached[at] === 1 || next[at] === 1) && isMeant(uri.charCodeAt(at))) next[at + 1] = 1
    return next
  }
}

/** `?a=1&b=2`: in any order, each of them or none. Without names, whatever they are. */
function pairs(first: string, between: string, names: ReadonlySet<string> | undefined): Step {
  return (reached, uri) => {
    const next = reached.slice() // nothing at all is possible, too
    const hash = uri.indexOf('#')
    const end = hash === -1 ? uri.length : hash
    for (let at = uri.indexOf(first); at !== -1 && at < end; at = uri.indexOf(first, at + 1)) {
      if (reached[at] !== 1) continue
      const given = uri.slice(at + 1, end).split(between)
      if (given.every((pair) => !names || names.has(pair.split('=')[0] ?? ''))) next[end] = 1
    }
    return next
  }
}
