/** What the live charts of this page show: a value for each second, so that a test knows it, too. */

export const CHARTS = 12
export const POINTS = 600

export const valueAt = (chart: number, line: number, second: number): number =>
  Math.round(100 + 80 * Math.sin(second / (7 + chart)) + 10 * line + (second % 5))
