import { type Style, writtenLine } from './line.ts'

const SHOWN_AFTER_MS = 1000
const REFRESH_MS = 1000

interface Options {
  readonly stream: NodeJS.WriteStream
  readonly style: Style
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Waits for `work`, and shows the phase if that takes more than a second: on a terminal in one line with the elapsed time,
 * which is erased in the end, otherwise once.
 */
export async function during<T>(
  phase: string,
  work: Promise<T>,
  { stream, style, env }: Options,
): Promise<T> {
  const startedAt = performance.now()
  const isLive = stream.isTTY && env.TERM !== 'dumb'
  let isShown = false
  const show = () => {
    const seconds = Math.floor((performance.now() - startedAt) / 1000)
    if (isLive) stream.write(`\r\u001b[K${writtenLine(`◐ ${phase} … ${seconds} s`, style).trimEnd()}`)
    else if (!isShown) stream.write(writtenLine(`${phase} …`, style))
    isShown = true
  }
  let timer = setTimeout(function tick() {
    show()
    timer = setTimeout(tick, REFRESH_MS)
  }, SHOWN_AFTER_MS)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    if (isLive && isShown) stream.write('\r\u001b[K')
  }
}
