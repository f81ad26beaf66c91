module.exports = {
  mode: 'production',
  target: 'node',
  entry: './main.js',
  output: { path: `${__dirname}/../bundles`, filename: 'webpack.cjs' },
  ignoreWarnings: [/pg-native|pg-cloudflare/],
  externals: { 'pg-native': 'commonjs pg-native' },
}
