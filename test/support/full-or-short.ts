/** `npm run goals -- --night` runs some reliability goals for hours. */
const NIGHT = process.env.TOOLROOM_GOALS === 'night'

/** `npm run goals` runs the long form of every test, `npm test` a short one. */
export const FULL = NIGHT || process.env.TOOLROOM_GOALS === 'full'

/** How many cases a test tries: in `npm test`, in `npm run goals`, and at night. */
export const runs = (short: number, long: number, night = long): number =>
  NIGHT ? night : FULL ? long : short

/** Every `nth` case in `npm test`, beginning with the one at `first`; all of them in `npm run goals`. */
export const some = <T>(cases: readonly T[], nth: number, first = 0): T[] =>
  cases.filter((_, at) => FULL || at % nth === first)
