// The reliability goals R1 to R35, and the tests that prove them: those with the number in their title, or all of a file
// that only has it elsewhere.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesUnder, root } from './lib.mjs'

export const GOALS = {
  R1: 'kill -9 loses no acknowledged change',
  R2: 'power loss: configuration durable, never corrupt',
  R3: 'kill -9 leaves no process',
  R4: 'a server that ignores signals is stopped',
  R5: "an agent's file is never torn",
  R6: "no edit of an agent's file is lost",
  R7: 'bad input: no server error, no growth',
  R8: 'no foreign host, origin or site is accepted',
  R9: 'hostile output: bounded memory and time',
  R10: 'a flood of lines: every line is accounted for',
  R11: 'the log never exceeds its size on disk',
  R12: 'clients that never read cost little',
  R13: 'slow clients delay no other request',
  R14: 'out of file handles: no crash, heals',
  R15: 'disk full: reads and deletes work, heals',
  R16: 'clock jumps: no restarts, no mass deletion',
  R17: 'a server that always exits costs little',
  R18: 'many servers start together',
  R19: 'random operations end as a model predicts',
  R20: 'no leak over time',
  R21: 'SIGTERM ends everything',
  R22: 'ready soon after a crash',
  R23: 'damaged files: never a silent empty start',
  R24: 'no secret is shown or stored in the clear',
  R25: 'hostile packages run nothing',
  R26: 'a killed server costs its pending calls only',
  R27: 'every change of a tool is flagged first',
  R28: 'faults of HTTP servers end in time',
  R29: 'a failing I/O operation: no crash',
  R30: 'Home is usable at once',
  R31: 'live charts and long logs: no long task',
  R32: '500 servers: every page stays quick',
  R33: 'a page left open: no growth, no gap',
  R34: 'what is kept for agents is bounded',
  R35: 'no input at any door costs more than its size',
}

/** The goals that a text names. */
export const goalsIn = (text) => [...text.matchAll(/\bR([1-9]|[12]\d|3[0-5])\b/g)].map(([goal]) => goal)

/** @returns {Map<string, string[]>} the test files of each goal */
export function scriptsOfGoals() {
  const named = filesUnder('test')
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => ({ path, goals: new Set(goalsIn(readFileSync(join(root, path), 'utf8'))) }))
  const scripts = (goal) => named.filter(({ goals }) => goals.has(goal)).map(({ path }) => path)
  return new Map(Object.keys(GOALS).map((goal) => [goal, scripts(goal)]))
}
