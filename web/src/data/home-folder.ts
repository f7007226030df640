import { useCallback } from 'react'
import { useLive } from './live/live.ts'

/** Writes paths below the home folder with `~`, wherever they are in a text. */
export function useShort(): (text: string) => string {
  const { home } = useLive()
  return useCallback((text) => shortened(text, home), [home])
}

export function shortened(text: string, home: string | undefined): string {
  if (!home || home.length < 2) return text
  const [start = '', ...parts] = text.split(home)
  return parts.reduce((done, part) => done + (/^[\w.-]/.test(part) ? home : '~') + part, start)
}
