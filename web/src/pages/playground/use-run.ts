import { useCallback, useEffect, useRef, useState } from 'react'
import { type CompletedCall, useCallFeed } from '../../data/calls.ts'
import {
  type CallTarget,
  type LogMessage,
  type Progress,
  type Question,
  runCall,
} from '../../data/playground/run-call.ts'

export interface Run {
  readonly target: CallTarget
  readonly args: string
  readonly state: 'running' | 'done' | 'failed' | 'cancelled'
  readonly startedAt: number
  readonly endedAt?: number
  readonly request_id?: string
  readonly progress?: Progress
  readonly messages: readonly LogMessage[]
  readonly question?: Question | undefined
  /** The result as JSON, byte for byte. */
  readonly json?: string
  readonly error?: unknown
  /** Where the time went, as the service measured it. */
  readonly measured?: CompletedCall
}

const MOST_MESSAGES = 200
/** The message with the figures of a call may come before or after its result. */
const REMEMBERED = 50

/** One call at a time. A call that is replaced, or whose page is left, is cancelled. */
export function useRun() {
  const [run, setRun] = useState<Run>()
  const abort = useRef<AbortController>(undefined)
  const completed = useRef(new Map<string, CompletedCall>())
  useCallFeed({
    onCompleted: useCallback((call: CompletedCall) => {
      if (call.request_id === null) return
      completed.current.set(call.request_id, call)
      const [oldest] = completed.current.keys()
      if (completed.current.size > REMEMBERED && oldest !== undefined) completed.current.delete(oldest)
      setRun((now) => (now?.request_id === call.request_id ? { ...now, measured: call } : now))
    }, []),
  })
  useEffect(() => () => abort.current?.abort(), [])

  const start = useCallback(async (target: CallTarget, args: string) => {
    abort.current?.abort()
    const own = new AbortController()
    abort.current = own
    const change = (next: (now: Run) => Partial<Run>) =>
      setRun((now) => (now && abort.current === own ? { ...now, ...next(now) } : now))
    setRun({ target, args, state: 'running', startedAt: Date.now(), messages: [] })
    try {
      const json = await runCall(target, args, {
        signal: own.signal,
        onRequest: (request_id) => {
          const measured = completed.current.get(request_id)
          change(() => ({ request_id, ...(measured && { measured }) }))
        },
        onProgress: (progress) => change(() => ({ progress })),
        onLog: (message) =>
          change(({ messages }) => ({ messages: [...messages, message].slice(-MOST_MESSAGES) })),
        onQuestion: (question) => change(() => ({ question })),
      })
      change(() => ({ state: 'done', json, endedAt: Date.now(), question: undefined }))
    } catch (error) {
      const state = own.signal.aborted ? 'cancelled' : 'failed'
      change(() => ({ state, error, endedAt: Date.now(), question: undefined }))
    }
  }, [])
  const cancel = useCallback(() => abort.current?.abort(), [])
  const answered = useCallback(() => setRun((now) => now && { ...now, question: undefined }), [])
  return { run, start, cancel, answered }
}
