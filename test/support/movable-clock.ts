import { onTestFinished, vi } from 'vitest'

/** Lets the wall clock of this process jump, as after a sleep of the computer. Timers keep their pace. */
export function movableClock() {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now(), shouldAdvanceTime: true })
  onTestFinished(() => void vi.useRealTimers())
  return { jump: (ms: number) => void vi.setSystemTime(Date.now() + ms) }
}
