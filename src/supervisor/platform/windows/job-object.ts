import type { Handle, WindowsApi } from './windows-api.ts'

const ACCOUNTING = 1
const PROCESS_IDS = 3
const EXTENDED_LIMITS = 9
const EXTENDED_LIMITS_BYTES = 144
const LIMIT_FLAGS_AT = 16
const KILL_ON_JOB_CLOSE = 0x2000
const ACCOUNTING_BYTES = 48
const ACTIVE_PROCESSES_AT = 40
/** PROCESS_TERMINATE and PROCESS_SET_QUOTA. */
const ASSIGN_ACCESS = 0x0101
const POINTER_BYTES = 8
const MOST_PIDS = 65_536

/**
 * A Job Object. Its processes and all their descendants cannot leave it, and Windows ends them when the last handle of the
 * job is closed: also when the process with that handle is killed.
 */
export class JobObject {
  readonly #api: WindowsApi
  #handle: Handle

  constructor(api: WindowsApi) {
    this.#api = api
    this.#handle = api.CreateJobObjectW(null, null)
    if (this.#handle === 0) throw this.#failure('CreateJobObject')
    const limits = Buffer.alloc(EXTENDED_LIMITS_BYTES)
    limits.writeUInt32LE(KILL_ON_JOB_CLOSE, LIMIT_FLAGS_AT)
    if (!api.SetInformationJobObject(this.#handle, EXTENDED_LIMITS, limits, limits.length))
      throw this.#failure('SetInformationJobObject')
  }

  addThisProcess(): void {
    this.#assign(this.#api.GetCurrentProcess())
  }

  /** The caller must hold the process, as Node does until it has reported its end: otherwise its pid may be reused. */
  add(pid: number): void {
    const process = this.#api.OpenProcess(ASSIGN_ACCESS, 0, pid)
    if (process === 0) throw this.#failure('OpenProcess')
    try {
      this.#assign(process)
    } finally {
      this.#api.CloseHandle(process)
    }
  }

  get isEmpty(): boolean {
    const info = Buffer.alloc(ACCOUNTING_BYTES)
    if (!this.#api.QueryInformationJobObject(this.#handle, ACCOUNTING, info, info.length, null))
      throw this.#failure('QueryInformationJobObject')
    return info.readUInt32LE(ACTIVE_PROCESSES_AT) === 0
  }

  pids(): number[] {
    for (let room = 64; room <= MOST_PIDS; room *= 2) {
      const list = Buffer.alloc(POINTER_BYTES * (1 + room))
      if (!this.#api.QueryInformationJobObject(this.#handle, PROCESS_IDS, list, list.length, null)) continue
      const listed = list.readUInt32LE(4)
      return Array.from({ length: listed }, (_, at) => list.readUInt32LE(POINTER_BYTES * (1 + at)))
    }
    throw this.#failure('QueryInformationJobObject')
  }

  /** Ends all its processes. They may live for some milliseconds more. */
  terminate(): void {
    this.#api.TerminateJobObject(this.#handle, 1)
  }

  close(): void {
    if (this.#handle !== 0) this.#api.CloseHandle(this.#handle)
    this.#handle = 0
  }

  #assign(process: Handle): void {
    if (!this.#api.AssignProcessToJobObject(this.#handle, process))
      throw this.#failure('AssignProcessToJobObject')
  }

  #failure(name: string): Error {
    return new Error(`${name} has failed with error ${this.#api.GetLastError()}`)
  }
}
