import type { CancelSignal } from './light-abort-controller.ts'

/** The result of the work, or `late` after `ms` or an abort. The work itself continues. */
export async function within<T>(work: Promise<T>, ms: number, signal?: CancelSignal): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined
  let leave = () => {}
  const late = new Promise<'late'>((resolve) => {
    leave = () => resolve('late')
    timer = setTimeout(leave, ms)
    signal?.addEventListener('abort', leave, { once: true })
    if (signal?.aborted) leave()
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
  }
}
