import { FLAGS, type Flag } from './docker-run-flags.ts'

/** The pattern of an image's name. It may have a registry, a tag and a digest. */
export const IMAGE_NAME = '^[A-Za-z0-9_][A-Za-z0-9_./:@\\-]{0,511}$'

/** What `docker run` or `podman run` would run in a container. */
export interface ContainerCommand {
  readonly image: string
  /** What follows the image. */
  readonly args: readonly string[]
  readonly entrypoint: string | null
  /** Null: the value of this name in the environment of the server. */
  readonly env: Readonly<Record<string, string | null>>
  readonly mounts: readonly VolumeMount[]
  readonly network: 'none' | 'full'
  readonly memory_mb: number | null
  readonly pids: number | null
  readonly cwd: string | null
  readonly user: string | null
}

/** A file or folder of this computer, or a volume of the engine. */
interface VolumeMount {
  /** A path that begins with `/`, `~/` or a reference, or the name of a volume. */
  readonly source: string
  readonly target: string
  readonly access: 'write' | 'read'
}

/** `cannot` names each part of the command that a container of Toolroom does not have. */
type ContainerReading =
  | { readonly ok: true; readonly container: ContainerCommand }
  | { readonly ok: false; readonly cannot: readonly string[] }

/** Undefined if the command does not run a container. Values are never named, because they may be secrets. */
export function readContainerCommand(command: string, args: readonly string[]): ContainerReading | undefined {
  if (!ENGINE.test(command)) return undefined
  const at = args[0] === 'container' ? 1 : 0
  if (args[at] !== 'run') return undefined
  const reading = new Reading()
  const rest = reading.readFlags(args.slice(at + 1))
  const [image, ...own] = rest
  if (image === undefined) reading.cannot.push('a missing image')
  else if (!IMAGE.test(image)) reading.cannot.push('the name of the image')
  if (!reading.isInteractive) reading.cannot.push('no -i: without it, the server gets no input')
  if (reading.cannot.length > 0) return { ok: false, cannot: [...new Set(reading.cannot)] }
  return { ok: true, container: { ...reading.result, image: image ?? '', args: own } }
}

const ENGINE = /(?:^|[\\/])(?:docker|podman)(?:\.exe)?$/i
const IMAGE = new RegExp(IMAGE_NAME)

class Reading {
  readonly cannot: string[] = []
  isInteractive = false
  readonly #env: Record<string, string | null> = {}
  readonly #mounts: VolumeMount[] = []
  #last: Partial<ContainerCommand> = {}

  get result(): Omit<ContainerCommand, 'image' | 'args'> {
    const none = { entrypoint: null, memory_mb: null, pids: null, cwd: null, user: null } as const
    return { ...none, network: 'full', ...this.#last, env: this.#env, mounts: this.#mounts }
  }

  /** @returns what follows the flags */
  readFlags(words: readonly string[]): readonly string[] {
    for (let at = 0; at < words.length; at++) {
      const word = words[at] ?? ''
      if (word === '--') return words.slice(at + 1)
      if (!word.startsWith('-') || word === '-') return words.slice(at)
      const [flags, value] = flagsIn(word)
      for (const name of flags) {
        const flag = FLAGS[name]
        if (!flag) {
          // Whether it takes a value is not known, so neither is where the image is.
          this.cannot.push(name.slice(0, 40))
          return ['unknown']
        }
        if (flag.value === false) this.#switch(name, flag, value)
        else {
          const text = value ?? words[++at]
          if (text === undefined) this.cannot.push(`${name} without a value`)
          else this.#take(name, flag, text)
        }
      }
    }
    return []
  }

  #switch(name: string, flag: Flag, value: string | undefined): void {
    const isOn = value === undefined || /^(?:1|t|true)$/i.test(value)
    if (flag.means === 'interactive') this.isInteractive = isOn
    else if (flag.means === 'unsupported' && isOn) this.cannot.push(name)
  }

  #take(name: string, flag: Flag, text: string): void {
    const means = READERS[flag.means]?.(text)
    if (flag.means === 'env') this.#setEnv(name, text)
    else if (flag.means === 'volume' || flag.means === 'mount') this.#mount(name, flag.means, text)
    else if (flag.means === 'ignored') return
    else if (means === undefined)
      this.cannot.push(flag.means === 'unsupported' ? name : `this value of ${name}`)
    else this.#last = { ...this.#last, ...means }
  }

  #setEnv(name: string, text: string): void {
    const at = text.indexOf('=')
    const variable = at < 0 ? text : text.slice(0, at)
    if (/^[A-Za-z_][\w.-]{0,255}$/.test(variable)) {
      const value = at < 0 ? null : text.slice(at + 1)
      Object.defineProperty(this.#env, variable, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    } else this.cannot.push(`this value of ${name}`)
  }

  #mount(name: string, means: 'volume' | 'mount', text: string): void {
    const mount = means === 'volume' ? readVolume(text) : readMount(text)
    if (mount === undefined) this.cannot.push(`this value of ${name}`)
    else if (mount !== 'tmp') this.#mounts.push(mount)
  }
}

const READERS: Partial<Record<Flag['means'], (text: string) => Partial<ContainerCommand> | undefined>> = {
  network: (text) =>
    text === 'none'
      ? { network: 'none' }
      : /^(?:bridge|default)$/.test(text)
        ? { network: 'full' }
        : undefined,
  memory: (text) => {
    const bytes = bytesOf(text)
    return bytes === undefined ? undefined : { memory_mb: Math.ceil(bytes / 1024 ** 2) }
  },
  pids: (text) => (/^[1-9]\d{0,6}$/.test(text) ? { pids: Number(text) } : undefined),
  cwd: (text) => (text.startsWith('/') ? { cwd: text } : undefined),
  user: (text) => (/^[\w.-]{1,64}(?::[\w.-]{1,64})?$/.test(text) ? { user: text } : undefined),
  entrypoint: (text) => (text === '' ? undefined : { entrypoint: text }),
  tmpfs: (text) => (/^\/tmp(?::|$)/.test(text) ? {} : undefined), // it always has one
  no_rights: (text) => (/^no-new-privileges(?:[:=]true)?$/.test(text) ? {} : undefined),
  no_log: (text) => (text === 'none' ? {} : undefined),
  pull: (text) => (/^(?:missing|never)$/.test(text) ? {} : undefined), // a start never downloads
}

/** `-it` is two flags, and `-eNAME` is one with its value. */
function flagsIn(word: string): [flags: string[], value: string | undefined] {
  const at = word.indexOf('=')
  if (word.startsWith('--')) return at < 0 ? [[word], undefined] : [[word.slice(0, at)], word.slice(at + 1)]
  const flags: string[] = []
  for (let index = 1; index < word.length; index++) {
    const flag = `-${word[index]}`
    flags.push(flag)
    const next = word[index + 1]
    if (next === '=') return [flags, word.slice(index + 2)]
    if (FLAGS[flag]?.value !== false) return [flags, next === undefined ? undefined : word.slice(index + 1)]
  }
  return [flags, undefined]
}

/** `512m`, `2g`, `1024`. */
function bytesOf(text: string): number | undefined {
  const [, amount, unit = 'b'] = /^(\d{1,15})(?:([bkmg])b?)?$/i.exec(text) ?? []
  const bytes = Number(amount) * 1024 ** 'bkmg'.indexOf(unit.toLowerCase())
  return bytes > 0 ? bytes : undefined
}

/** The value of `-v`. */
function readVolume(text: string): VolumeMount | undefined {
  const parts = splitOutsideReferences(text)
  const [source = '', target = '', options = ''] = parts
  const unknown = options
    .split(',')
    .filter((option) => !/^(?:|rw|ro|cached|delegated|consistent)$/.test(option))
  if (parts.length < 2 || parts.length > 3 || unknown.length > 0) return undefined
  return mountOf(source, target, options.split(',').includes('ro'))
}

/** The value of `--mount`. `tmp`: the /tmp in memory that every container has. */
function readMount(text: string): VolumeMount | 'tmp' | undefined {
  const fields = new Map<string, string>()
  for (const part of text.split(',')) {
    const [name = '', value = 'true'] = keyAndValue(part)
    const known = NAMES[name]
    if (known === undefined || value.includes('"')) return undefined
    fields.set(known, value)
  }
  const type = fields.get('type') ?? 'volume'
  const [source = '', target = ''] = [fields.get('source'), fields.get('target')]
  if (type === 'tmpfs') return target === '/tmp' ? 'tmp' : undefined
  const mount = mountOf(source, target, /^(?:1|true)$/i.test(fields.get('readonly') ?? ''))
  return mount && isPath(source) === (type === 'bind') && /^(?:bind|volume)$/.test(type) ? mount : undefined
}

const NAMES: Readonly<Partial<Record<string, string>>> = Object.assign(Object.create(null), {
  type: 'type',
  source: 'source',
  src: 'source',
  target: 'target',
  dst: 'target',
  destination: 'target',
  readonly: 'readonly',
  ro: 'readonly',
})

function mountOf(source: string, target: string, isReadOnly: boolean): VolumeMount | undefined {
  if (!target.startsWith('/') || !(isPath(source) || VOLUME.test(source))) return undefined
  return { source, target, access: isReadOnly ? 'read' : 'write' }
}

const isPath = (source: string): boolean => /^(?:\/|~\/|\$\{)/.test(source)
const VOLUME = /^[a-zA-Z0-9][\w.-]{0,254}$/

/** `${env:HOME}/data:/data` has two parts. */
function splitOutsideReferences(text: string): string[] {
  const parts: string[] = ['']
  let isInside = false
  for (const character of text) {
    if (character === '{') isInside = true
    if (character === '}') isInside = false
    if (character === ':' && !isInside) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts
}

function keyAndValue(part: string): [string, string | undefined] {
  const at = part.indexOf('=')
  return at < 0 ? [part, undefined] : [part.slice(0, at), part.slice(at + 1)]
}
