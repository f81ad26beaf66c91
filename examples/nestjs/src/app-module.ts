import { type DynamicModule, Module } from '@nestjs/common'
import { APP_FILTER } from '@nestjs/core'
import { TypeOrmModule } from '@nestjs/typeorm'
import { postgres } from '@outlay/adapters-pg'
import { typeormDriver } from '@outlay/adapters-pg/typeorm'
import { httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { OutlayModule } from '@outlay/nestjs'
import { DataSource } from 'typeorm'
import { CashOuts } from './cash-outs.ts'
import { CashOutController, RefusalFilter, WebhookController } from './controllers.ts'
import { CashOut, Courier } from './entities.ts'
import { SERVICE, type Service } from './service.ts'

/** What the application needs from outside. */
export interface Environment {
  readonly databaseUrl: string
  readonly service: Service
}

/** A delivery service whose couriers cash out what they have earned. */
@Module({})
class AppModule {}

/** The application in an environment. */
export function appModule({ databaseUrl, service }: Environment): DynamicModule {
  return {
    module: AppModule,
    imports: [
      TypeOrmModule.forRoot({
        type: 'postgres',
        url: databaseUrl,
        entities: [Courier, CashOut],
        synchronize: true,
        poolSize: 20,
      }),
      TypeOrmModule.forFeature([CashOut]),
      OutlayModule.forRootAsync({
        inject: [DataSource],
        useFactory: (dataSource: DataSource) => ({
          backend: postgres({ driver: typeormDriver(dataSource) }),
          gateway: httpGateway({
            baseUrl: service.baseUrl,
            credentials: service.credentials,
            keyLifetimeMs: outlayKeyLifetimeMs,
          }),
          webhooks: httpWebhooks({ secrets: service.webhookSecrets }),
        }),
      }),
    ],
    controllers: [CashOutController, WebhookController],
    providers: [CashOuts, { provide: SERVICE, useValue: service }, { provide: APP_FILTER, useClass: RefusalFilter }],
  }
}
