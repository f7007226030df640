import { useSyncExternalStore } from 'react'
import { queryClient } from '../query-client.ts'
import { onSession } from '../session.ts'
import { LiveConnection, type LiveState } from './connection.ts'
import { callsCompleted, callsStarted, droppedMessages, logLines, packageProgress } from './feeds.ts'
import type { LiveMessage } from './live-messages.ts'
import { patchResources, patchStatus } from './patch-servers.ts'
import { Refresher } from './refresh.ts'

/** Feeds the query cache from the live stream. Started once, by `main.tsx`. */

export type { LiveState }
export interface LiveStatus {
  readonly connection: LiveState
  readonly version: string | undefined
  /** The home folder of the computer that the service runs on. */
  readonly home: string | undefined
  /** When the last message came. What the page shows is that old while the service is gone. */
  readonly dataAt: number | undefined
}

let status: LiveStatus = {
  connection: { state: 'connecting' },
  version: undefined,
  home: undefined,
  dataAt: undefined,
}
const listeners = new Set<() => void>()
const refresher = new Refresher(queryClient)
let connection: LiveConnection | undefined
let dataAt: number | undefined

/** The development server fills in nothing. With 0, everything is read again after the connect. */
const lastEvent = Number(document.querySelector<HTMLMetaElement>('meta[name="last-event"]')?.content) || 0

export function startLive(): void {
  connection = new LiveConnection({
    lastEvent,
    onMessage: apply,
    onGap: () => refresher.refreshAll(),
    onState: (state) => change({ connection: state, dataAt }),
  })
  connection.retry()
  onSession(() => connection?.retry())
}

export const retryNow = (): void => connection?.retry()
export const followLog: LiveConnection['followLog'] = (filter) => connection?.followLog(filter)

export const useLive = (): LiveStatus => useSyncExternalStore(subscribe, () => status)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function change(next: Partial<LiveStatus>): void {
  status = { ...status, ...next }
  for (const listener of listeners) listener()
}

function apply(message: LiveMessage): void {
  dataAt = Date.now()
  refresher.afterMessage(message.type)
  switch (message.type) {
    case 'hello':
      change({ version: message.data.version, home: message.data.home })
      break
    case 'server_status':
      patchStatus(message.data)
      break
    case 'server_resources':
      patchResources(message.data)
      break
    case 'call_started':
      callsStarted.publish({ ...message.data, ts: message.ts })
      break
    case 'call_completed':
      callsCompleted.publish({ ...message.data, ts: message.ts })
      break
    case 'logs':
      for (const line of message.data) logLines.publish(line)
      break
    case 'package_progress':
      packageProgress.publish(message.data)
      break
    case 'dropped':
      droppedMessages.publish(message.data.frames)
      break
    default: // only refreshes
  }
}
