/** `npm run goals` runs the long form of every test, `npm test` a short one. */
export const FULL = process.env.TOOLROOM_GOALS === 'full'

/** How many cases a property test tries: the first number in `npm test`, the second in `npm run goals`. */
export const runs = (short: number, long: number): number => (FULL ? long : short)

/** Every `nth` case in `npm test`, beginning with the one at `first`; all of them in `npm run goals`. */
export const some = <T>(cases: readonly T[], nth: number, first = 0): T[] =>
  cases.filter((_, at) => FULL || at % nth === first)
