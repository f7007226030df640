import { gzipSync } from 'node:zlib'

const BLOCK = 512

/** A package as npm packs it: every file below `package/`, programs executable, the same bytes every time. */
export function tarball(files: Readonly<Record<string, string>>, programs: readonly string[] = []): Buffer {
  const parts = Object.entries(files).map(([name, text]) => {
    const body = Buffer.from(text)
    return Buffer.concat([header(`package/${name}`, body.length, programs.includes(name)), body, rest(body)])
  })
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]))
}

/** Bodies are padded to whole blocks. */
const rest = (body: Buffer) => Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)

/** The `ustar` header: fixed offsets, octal numbers, and a checksum computed with its own field as spaces. */
function header(name: string, size: number, executable: boolean): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} is too long for a ustar header`)
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, digits: number) =>
    block.write(`${value.toString(8).padStart(digits, '0')}\0`, at, 'latin1')
  block.write(name, 0, 'utf8')
  octal(executable ? 0o755 : 0o644, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size, 124, 11)
  octal(499_162_500, 136, 11) // the date npm gives every file
  block.fill(' ', 148, 156)
  block.write('0', 156, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  )
  return block
}
