/** `npm run goals` runs the long form of every test, `npm test` a short one. */
export const FULL = process.env.TOOLROOM_GOALS === 'full'

/** How many cases a property test tries: the first number in `npm test`, the second in `npm run goals`. */
export const runs = (short: number, long: number): number => (FULL ? long : short)
