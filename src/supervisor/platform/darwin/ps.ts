import type { ProcessFacts } from '../process-table.ts'

/** What one line of `ps` says. */
export interface PsLine extends ProcessFacts {
  readonly owner: string
  /** The program and its arguments, with a space between them. */
  readonly command: string
}

/** The command is last, because it is the only field with spaces besides the start time. */
export const PS_FIELDS = 'pid=,ppid=,pgid=,stat=,lstart=,time=,rss=,user=,command='

/** Names of months and days in English, and times without a change of the clock in summer. */
export const PS_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' }

const LINE =
  /^ *(\d+) +(\d+) +(\d+) +(\S+) +(\w{3} +\w{3} +\d+ +\d+:\d\d:\d\d +\d{4}) +([\d:.-]+) +(\d+) +(\S+) *(.*)$/

/** One pass over the text, line by line. A line that is not understood, such as a warning, is left out. */
export function parsePs(text: string): Map<number, PsLine> {
  const processes = new Map<number, PsLine>()
  for (const line of text.split('\n')) {
    const [, pid, parent, group, state, started, time, rss, owner, command] = LINE.exec(line) ?? []
    if (pid === undefined || started === undefined) continue
    processes.set(Number(pid), {
      pid: Number(pid),
      name: nameIn(command ?? ''),
      parent: Number(parent),
      group: Number(group),
      session: Number(group), // macOS does not tell the session
      startedAt: Date.parse(`${started} UTC`),
      zombie: state?.startsWith('Z') === true,
      cpuMs: millisecondsIn(time ?? ''),
      rssBytes: Number(rss) * 1024,
      owner: owner ?? '',
      command: command ?? '',
    })
  }
  return processes
}

/** The program without its folder. Wrong for a folder with a space, so it only decides what it does not harm. */
function nameIn(command: string): string {
  const [program = ''] = command.split(' ', 1)
  return program.slice(program.lastIndexOf('/') + 1)
}

/** `1234:56.78` on macOS, `2-03:04:05` elsewhere: days, then hours, minutes and seconds. */
function millisecondsIn(time: string): number {
  const [clock = '', days = '0'] = time.split('-').reverse()
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return Math.round((Number(days) * 86_400 + seconds) * 1000)
}

/** The start time as the reaper's script reads it from `ps`: no spaces and no colons. */
export function startText(startedAt: number): string {
  const [day, month, date, time, year] = new Date(startedAt)
    .toUTCString() // Mon, 16 Nov 2026 18:02:51 GMT
    .replace(/^(\w+), 0?(\d+) (\w+) (\d+) (\S+) GMT$/, '$1 $3 $2 $5 $4')
    .split(' ')
  return `${day}_${month}_${date}_${time?.replaceAll(':', '.')}_${year}`
}
