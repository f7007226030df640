import { median, round } from '../statistics.ts'

/** The figures of each subject, round by round. */
export type Rounds<Name extends string> = Readonly<Record<Name, readonly number[]>>

/** A B C A B C …, so that other work on this computer affects all alike. The first round is a warm-up and is not counted. */
export async function interleaved<Name extends string, Figure>(
  rounds: number,
  subjects: Readonly<Record<Name, () => Promise<Figure>>>,
): Promise<Record<Name, Figure[]>> {
  const names = Object.keys(subjects) as Name[]
  const found = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Figure[]>
  for (let n = -1; n < rounds; n += 1) {
    for (const name of names) {
      const figure = await subjects[name]()
      if (n >= 0) found[name].push(figure)
    }
  }
  return found
}

/** The median of the ratios of each round. */
export function ratio(ours: readonly number[], ...beside: readonly (readonly number[])[]): number {
  return median(ours.map((figure, n) => figure / beside.reduce((sum, each) => sum + (each[n] ?? 0), 0)))
}

interface Goal {
  readonly is: 'most' | 'least'
  readonly must: number
  readonly aim: number
}

/** `passThrough` is the figure of the minimal gateway in the same run. */
export function row(
  figure: string,
  dividedBy: string,
  ours: number,
  { goal, passThrough }: { goal?: Goal; passThrough?: number } = {},
) {
  return {
    figure,
    'divided by': dividedBy,
    ours: round(ours),
    'pass-through': passThrough === undefined ? '' : round(passThrough),
    must: goal ? `${SIGN[goal.is]} ${goal.must}` : '',
    aim: goal ? `${SIGN[goal.is]} ${goal.aim}` : '',
    verdict: goal ? verdictOf(ours, goal) : '',
  }
}
const SIGN = { most: '≤', least: '≥' } as const

export const atMost = (must: number, aim: number): Goal => ({ is: 'most', must, aim })
export const atLeast = (must: number, aim: number): Goal => ({ is: 'least', must, aim })

function verdictOf(ours: number, { is, must, aim }: Goal): string {
  const keeps = (bound: number) => (is === 'most' ? ours <= bound : ours >= bound)
  if (keeps(aim)) return 'aim'
  return keeps(must) ? 'must' : 'MISSED'
}

/** To three digits. */
