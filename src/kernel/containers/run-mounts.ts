/** A file or folder of this computer, or a volume of the engine. */
export interface VolumeMount {
  /** A path that begins with `/`, `~/` or a reference, or the name of a volume. */
  readonly source: string
  readonly target: string
  readonly access: 'write' | 'read'
}

/** The value of `-v`. */
export function readVolume(text: string): VolumeMount | undefined {
  const parts = splitOutsideReferences(text)
  const [source = '', target = '', options = ''] = parts
  const unknown = options
    .split(',')
    .filter((option) => !/^(?:|rw|ro|cached|delegated|consistent)$/.test(option))
  if (parts.length < 2 || parts.length > 3 || unknown.length > 0) return undefined
  return mountOf(source, target, options.split(',').includes('ro'))
}

/** The value of `--mount`. `tmp`: the /tmp in memory that every container has. */
export function readMount(text: string): VolumeMount | 'tmp' | undefined {
  const fields = new Map<string, string>()
  for (const part of text.split(',')) {
    const [name = '', value = 'true'] = split(part)
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

function split(part: string): [string, string | undefined] {
  const at = part.indexOf('=')
  return at < 0 ? [part, undefined] : [part.slice(0, at), part.slice(at + 1)]
}
