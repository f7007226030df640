/** How many cases a property test tries: the first number in `npm test`, the second in `npm run goals`. */
export const runs = (short: number, long: number): number =>
  process.env.TOOLROOM_GOALS === 'full' ? long : short
