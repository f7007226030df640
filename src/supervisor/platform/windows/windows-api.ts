import { createRequire } from 'node:module'

/** A handle, or 0. */
export type Handle = number

/** The functions of Windows that Node does not offer. Structures are buffers in the layout of 64-bit Windows. */
export interface WindowsApi {
  CloseHandle(handle: Handle): number
  GetCurrentProcess(): Handle
  GetLastError(): number
  OpenProcess(access: number, inherit: number, pid: number): Handle
  TerminateProcess(process: Handle, code: number): number
  WaitForSingleObject(handle: Handle, ms: number): number
  CreateJobObjectW(attributes: null, name: null): Handle
  SetInformationJobObject(job: Handle, kind: number, info: Buffer, bytes: number): number
  QueryInformationJobObject(
    job: Handle,
    kind: number,
    info: Buffer,
    bytes: number,
    returned: Buffer | null,
  ): number
  AssignProcessToJobObject(job: Handle, process: Handle): number
  TerminateJobObject(job: Handle, code: number): number
  CreateToolhelp32Snapshot(flags: number, pid: number): Handle
  Process32FirstW(snapshot: Handle, entry: Buffer): number
  Process32NextW(snapshot: Handle, entry: Buffer): number
  GetProcessTimes(process: Handle, created: Buffer, ended: Buffer, kernel: Buffer, user: Buffer): number
  K32GetProcessMemoryInfo(process: Handle, counters: Buffer, bytes: number): number
  NtQueryInformationProcess(
    process: Handle,
    kind: number,
    info: Buffer,
    bytes: number,
    returned: null,
  ): number
  ReadProcessMemory(process: Handle, address: bigint, into: Buffer, bytes: number, read: null): number
  OpenProcessToken(process: Handle, access: number, token: Buffer): number
  GetTokenInformation(token: Handle, kind: number, info: Buffer, bytes: number, returned: Buffer): number
  LookupAccountSidW(
    system: null,
    sid: Buffer,
    name: Buffer,
    nameChars: Buffer,
    domain: Buffer,
    domainChars: Buffer,
    use: Buffer,
  ): number
}

const FUNCTIONS: Readonly<Record<string, readonly string[]>> = {
  'kernel32.dll': [
    'int __stdcall CloseHandle(intptr_t)',
    'intptr_t __stdcall GetCurrentProcess()',
    'uint32_t __stdcall GetLastError()',
    'intptr_t __stdcall OpenProcess(uint32_t, int, uint32_t)',
    'int __stdcall TerminateProcess(intptr_t, uint32_t)',
    'uint32_t __stdcall WaitForSingleObject(intptr_t, uint32_t)',
    'intptr_t __stdcall CreateJobObjectW(void *, void *)',
    'int __stdcall SetInformationJobObject(intptr_t, int, void *, uint32_t)',
    'int __stdcall QueryInformationJobObject(intptr_t, int, void *, uint32_t, void *)',
    'int __stdcall AssignProcessToJobObject(intptr_t, intptr_t)',
    'int __stdcall TerminateJobObject(intptr_t, uint32_t)',
    'intptr_t __stdcall CreateToolhelp32Snapshot(uint32_t, uint32_t)',
    'int __stdcall Process32FirstW(intptr_t, void *)',
    'int __stdcall Process32NextW(intptr_t, void *)',
    'int __stdcall GetProcessTimes(intptr_t, void *, void *, void *, void *)',
    'int __stdcall K32GetProcessMemoryInfo(intptr_t, void *, uint32_t)',
    'int __stdcall ReadProcessMemory(intptr_t, uint64_t, void *, size_t, void *)',
  ],
  'ntdll.dll': ['int __stdcall NtQueryInformationProcess(intptr_t, int, void *, uint32_t, void *)'],
  'advapi32.dll': [
    'int __stdcall OpenProcessToken(intptr_t, uint32_t, void *)',
    'int __stdcall GetTokenInformation(intptr_t, int, void *, uint32_t, void *)',
    'int __stdcall LookupAccountSidW(void *, void *, void *, void *, void *, void *, void *)',
  ],
}

/** The part of koffi that we use. */
interface Koffi {
  load(file: string): { func(definition: string): unknown }
}

/** Throws if koffi is not installed, which is an optional dependency, or if it does not support this computer. */
export function loadWindowsApi(): WindowsApi {
  if (process.arch === 'ia32') throw new Error('Job Objects need a 64-bit Node')
  const koffi = createRequire(import.meta.url)(`@koromix/koffi-win32-${process.arch}`) as Koffi
  const functions: Record<string, unknown> = {}
  for (const [file, definitions] of Object.entries(FUNCTIONS)) {
    const library = koffi.load(file)
    for (const definition of definitions) {
      const [, name = ''] = /(\w+)\(/.exec(definition) ?? []
      functions[name] = library.func(definition)
    }
  }
  return functions as unknown as WindowsApi
}
