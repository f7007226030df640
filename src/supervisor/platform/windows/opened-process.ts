import type { Handle, WindowsApi } from './windows-api.ts'

const QUERY = 0x1000
const SYNCHRONIZE = 0x10_0000
/** What is needed beside that, for its memory or its end. */
const MORE = { ask: 0, read: 0x0010, end: 0x0001 }
const WAIT_TIMEOUT = 258
/** 1970 in hundreds of nanoseconds since 1601. */
const EPOCH = 116_444_736_000_000_000n
const PER_MS = 10_000
const MEMORY_BYTES = 72
const WORKING_SET_AT = 16
/** The way to the command line: basic information, environment block, parameters, and a text with its length. */
const BASIC = 0
const [BASIC_BYTES, BLOCK_AT, PARAMETERS_AT, COMMAND_LINE_AT] = [48, 8, 0x20n, 0x70n]
const [TEXT_BYTES, POINTER_BYTES] = [16, 8]
const TOKEN_QUERY = 0x0008
const TOKEN_USER = 1
/** Behind a pointer to it and its attributes. */
const SID_AT = 16
const NAME_CHARS = 257

/** An open process. Its pid is not reused until it is closed. */
export class OpenedProcess {
  readonly #api: WindowsApi
  readonly #handle: Handle

  private constructor(api: WindowsApi, handle: Handle) {
    this.#api = api
    this.#handle = handle
  }

  /** Undefined if there is no such process, or if this user may not open it. */
  static open(api: WindowsApi, pid: number, to: keyof typeof MORE = 'ask'): OpenedProcess | undefined {
    const handle = api.OpenProcess(QUERY | SYNCHRONIZE | MORE[to], 0, pid)
    return handle === 0 ? undefined : new OpenedProcess(api, handle)
  }

  close(): void {
    this.#api.CloseHandle(this.#handle)
  }

  get isRunning(): boolean {
    return this.#api.WaitForSingleObject(this.#handle, 0) === WAIT_TIMEOUT
  }

  /** Ends it without its children. False if that is not permitted, or if it has ended. */
  terminate(): boolean {
    return this.#api.TerminateProcess(this.#handle, 1) !== 0
  }

  /** `startedAt` in milliseconds since 1970, with a fraction. */
  times(): { readonly startedAt: number; readonly cpuMs: number } | undefined {
    const [created, ended, kernel, user] = [0, 0, 0, 0].map(() => Buffer.alloc(8)) as Four
    if (!this.#api.GetProcessTimes(this.#handle, created, ended, kernel, user)) return undefined
    const used = kernel.readBigUInt64LE() + user.readBigUInt64LE()
    return {
      startedAt: Number(created.readBigUInt64LE() - EPOCH) / PER_MS,
      cpuMs: Number(used) / PER_MS,
    }
  }

  rssBytes(): number | undefined {
    const counters = Buffer.alloc(MEMORY_BYTES)
    counters.writeUInt32LE(MEMORY_BYTES)
    if (!this.#api.K32GetProcessMemoryInfo(this.#handle, counters, MEMORY_BYTES)) return undefined
    return Number(counters.readBigUInt64LE(WORKING_SET_AT))
  }

  /** As it was given at the start. Empty if it cannot be read. */
  commandLine(): string {
    const basic = Buffer.alloc(BASIC_BYTES)
    if (this.#api.NtQueryInformationProcess(this.#handle, BASIC, basic, BASIC_BYTES, null) !== 0) return ''
    const block = basic.readBigUInt64LE(BLOCK_AT)
    const parameters = this.#memory(block + PARAMETERS_AT, POINTER_BYTES)?.readBigUInt64LE()
    const text = parameters && this.#memory(parameters + COMMAND_LINE_AT, TEXT_BYTES)
    if (!text) return ''
    return this.#memory(text.readBigUInt64LE(POINTER_BYTES), text.readUInt16LE())?.toString('utf16le') ?? ''
  }

  /** The name of its user; undefined if Windows does not tell. */
  owner(): string | undefined {
    const opened = Buffer.alloc(8)
    if (!this.#api.OpenProcessToken(this.#handle, TOKEN_QUERY, opened)) return undefined
    const token = Number(opened.readBigInt64LE())
    try {
      const user = Buffer.alloc(256)
      if (!this.#api.GetTokenInformation(token, TOKEN_USER, user, user.length, Buffer.alloc(4)))
        return undefined
      const [name, domain] = [Buffer.alloc(NAME_CHARS * 2), Buffer.alloc(NAME_CHARS * 2)]
      const [nameChars, domainChars] = [Buffer.alloc(4), Buffer.alloc(4)]
      nameChars.writeUInt32LE(NAME_CHARS)
      domainChars.writeUInt32LE(NAME_CHARS)
      const sid = user.subarray(SID_AT)
      const use = Buffer.alloc(4)
      if (!this.#api.LookupAccountSidW(null, sid, name, nameChars, domain, domainChars, use)) return undefined
      return name.toString('utf16le', 0, nameChars.readUInt32LE() * 2)
    } finally {
      this.#api.CloseHandle(token)
    }
  }

  #memory(address: bigint, bytes: number): Buffer | undefined {
    const into = Buffer.alloc(bytes)
    return this.#api.ReadProcessMemory(this.#handle, address, into, bytes, null) ? into : undefined
  }
}

type Four = [Buffer, Buffer, Buffer, Buffer]
