import { SYSTEM_CALL_NUMBERS } from './system-call-numbers.ts'

/**
 * A filter of system calls (seccomp), as `bwrap` reads it: what a tool server does not need, and what namespaces do not
 * separate. Other calls stay as they are. Undefined for processors whose numbers are not listed here.
 */
export function systemCallFilter(architecture: string = process.arch): Buffer | undefined {
  const numbers = SYSTEM_CALL_NUMBERS[architecture]
  if (numbers === undefined) return undefined
  const { audit, refused, missing, clone, unshare, ioctl, sockets } = numbers
  const program: Instruction[] = [
    load(ARCHITECTURE),
    ...unless(audit, returns(ENOSYS)), // programs for another processor have other numbers
    load(NUMBER),
    ...(architecture === 'x64' ? [jump(ABOVE, OF_X32, 0, 1), returns(ENOSYS)] : []),
    ...missing.flatMap((number) => when([number], returns(ENOSYS))),
    ...refused.flatMap((number) => when([number], returns(EPERM))),
    ...when([clone], load(FIRST), jump(ANY_BIT, NAMESPACES, 0, 1), returns(EPERM), ALLOWS),
    ...when([unshare], load(FIRST), jump(ANY_BIT, NAMESPACES | OF_TIME, 0, 1), returns(EPERM), ALLOWS),
    ...when([ioctl], load(SECOND), ...TYPED.flatMap((each) => when([each], returns(EPERM))), ALLOWS),
    ...when(sockets, load(FIRST), ...FAMILIES.flatMap((each) => when([each], ALLOWS)), returns(EAFNOSUPPORT)),
    ALLOWS,
  ]
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, { code, ifTrue, ifFalse, value }] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4)
  }
  return bytes
}

/** Of mounts, cgroups, host names, IPC, users, processes and networks. */
const NAMESPACES = 0x7e020000
const OF_TIME = 0x80
/** TIOCSTI and TIOCLINUX type into a terminal. */
const TYPED = [0x5412, 0x541c]
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others, such as AF_VSOCK, belong to no network namespace. */
const FAMILIES = [1, 2, 10, 16]
const OF_X32 = 0x40000000

const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97]

interface Instruction {
  readonly code: number
  readonly ifTrue: number
  readonly ifFalse: number
  readonly value: number
}

/** Offsets in `struct seccomp_data`. Of an argument, the lower half. */
const [NUMBER, ARCHITECTURE, FIRST, SECOND] = [0, 4, 16, 24]
const [EQUAL, ABOVE, ANY_BIT] = [0x15, 0x35, 0x45]

const load = (value: number): Instruction => ({ code: 0x20, ifTrue: 0, ifFalse: 0, value })
const jump = (code: number, value: number, ifTrue: number, ifFalse: number): Instruction => ({
  code,
  ifTrue,
  ifFalse,
  value,
})
const returns = (error: number): Instruction => ({
  code: 0x06,
  ifTrue: 0,
  ifFalse: 0,
  value: 0x00050000 | error,
})
const ALLOWS: Instruction = { code: 0x06, ifTrue: 0, ifFalse: 0, value: 0x7fff0000 }

/** Runs `then` if what is loaded is one of `values`. It must end with a return. */
const when = (values: readonly number[], ...then: Instruction[]): Instruction[] => [
  ...values.map((value, index) => {
    const others = values.length - 1 - index
    return jump(EQUAL, value, others, others === 0 ? then.length : 0)
  }),
  ...then,
]

const unless = (value: number, then: Instruction): Instruction[] => [jump(EQUAL, value, 1, 0), then]
