import type { Page } from 'playwright-core'

/** What a page costs, as the browser itself counts it. Times are CPU times, so another process does not change them. */
export async function measure(page: Page) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const metric = async (name: string): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find((each) => each.name === name)?.value ?? Number.NaN
  }
  const busyMs = async () => 1000 * (await metric('TaskDuration'))
  return {
    session,
    /** The time that the main thread has worked. */
    busyMs,
    /** The time that the main thread works until the frame that shows the result of `act`. */
    async costMs(act: () => Promise<unknown>): Promise<number> {
      const before = await busyMs()
      await act()
      await nextFrame(page)
      return (await busyMs()) - before
    },
    /** What is left after a garbage collection. */
    async kept(): Promise<Kept> {
      for (let round = 0; round < 3; round += 1) await session.send('HeapProfiler.collectGarbage')
      const [heap, nodes, listeners] = await Promise.all(
        ['JSHeapUsedSize', 'Nodes', 'JSEventListeners'].map(metric),
      )
      return { heapMb: (heap ?? Number.NaN) / 1_048_576, nodes: nodes ?? 0, listeners: listeners ?? 0 }
    },
  }
}

export interface Kept {
  readonly heapMb: number
  readonly nodes: number
  readonly listeners: number
}

const nextFrame = (page: Page) =>
  page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve))))

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** CPU time, in microseconds. */
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/** The longest task of the page's main thread while `act` runs, in CPU time. */
export async function longestTaskMs(page: Page, act: () => Promise<unknown>): Promise<number> {
  const browser = page.context().browser()
  if (!browser) throw new Error('the page has no browser')
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
  await act()
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString('utf8')) as {
    traceEvents: TraceEvent[]
  }
  const mains = new Set(
    traceEvents.filter(({ args }) => args.name === 'CrRendererMain').map(({ pid, tid }) => `${pid}/${tid}`),
  )
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && mains.has(`${pid}/${tid}`),
  )
  if (tasks.length === 0) throw new Error('the trace has no task')
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000
}

/** The 95th percentile. */
export const p95 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN
