import { useCallback } from 'react'
import { withTilde } from '../../format/format.ts'
import { useLive } from './live.ts'

/** Writes paths below the home folder with `~`, wherever they are in a text. */
export function useShort(): (text: string) => string {
  const { home } = useLive()
  return useCallback((text) => withTilde(text, home), [home])
}
