import { useEffect, useState } from 'react'
import { clock, iso, seconds } from '../../format/format.ts'

/** A local time with the ISO time as its tooltip. */
export function Time({ at, exact = false }: { readonly at: string; readonly exact?: boolean }) {
  return (
    <time dateTime={at} title={iso(at)}>
      {exact ? seconds(at) : clock(at)}
    </time>
  )
}

/** The time, in whole steps, so that everything that counts changes in the same moment. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => floored(everyMs))
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    const wait = () => {
      timer = setTimeout(tick, everyMs - (Date.now() % everyMs))
    }
    const tick = () => {
      setNow(floored(everyMs))
      wait()
    }
    wait()
    return () => clearTimeout(timer)
  }, [everyMs])
  return now
}

const floored = (everyMs: number): number => Date.now() - (Date.now() % everyMs)
