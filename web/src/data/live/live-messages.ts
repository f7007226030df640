import type { Call, LogLine, Notice } from '../api.ts'

/** The messages of the live stream that the dashboard uses; docs/websocket.md describes all of them. */
export type LiveMessage =
  | { readonly type: 'hello'; readonly data: { readonly version: string; readonly home: string } }
  | { readonly type: 'snapshot' | 'metrics'; readonly data: object }
  | { readonly type: 'call_started'; readonly ts: string; readonly data: StartedCall }
  | { readonly type: 'call_completed'; readonly ts: string; readonly data: CompletedCall }
  | { readonly type: 'server_status'; readonly data: StatusChange }
  | { readonly type: 'server_resources'; readonly data: ResourcesChange }
  | { readonly type: 'server_added' | 'server_updated' | 'server_removed'; readonly data: OfServer }
  | { readonly type: 'http_server_check' | 'tools_changed'; readonly data: OfServer }
  | { readonly type: 'agent_changed'; readonly data: { readonly agent_type: string } }
  | { readonly type: 'package_progress'; readonly data: PackageProgress }
  | { readonly type: 'image_progress'; readonly data: ImageProgress }
  | { readonly type: 'notice'; readonly data: Notice }
  | {
      readonly type: 'logs'
      readonly data: readonly (Omit<LogLine, 'id'> & { readonly id: number | null })[]
    }
  | { readonly type: 'dropped'; readonly data: { readonly frames: number } }
  | { readonly type: 'heartbeat' | 'error'; readonly data: object }

interface OfServer {
  readonly server_id: string
}
export interface StatusChange extends OfServer {
  readonly status: string
  readonly cause: string
}
export interface ResourcesChange extends OfServer {
  readonly cpu_pct: number
  readonly rss_bytes: number
  readonly processes: number
}
interface ImageProgress {
  readonly job_id: string
  readonly image: string
  readonly status: string
  readonly phase: string
  readonly line: string | null
}
export interface PackageProgress {
  readonly job_id: string
  readonly package: string
  readonly status: string
  readonly phase: string
  readonly line: string | null
}
export type StartedCall = Pick<
  Call,
  'server_id' | 'tool' | 'agent_type' | 'session_id' | 'request_id' | 'request_bytes'
> & { readonly call_id: number }
export type CompletedCall = StartedCall &
  Pick<
    Call,
    'duration_ms' | 'queue_ms' | 'start_ms' | 'server_ms' | 'status' | 'error_code' | 'response_bytes'
  >

/** The log lines that the stream shall send. */
export interface LogFilter {
  readonly level?: LogLine['level']
  readonly source?: readonly LogLine['source'][]
  readonly stream?: readonly NonNullable<LogLine['stream']>[]
  readonly search?: string
  readonly server_ids?: readonly string[]
}
