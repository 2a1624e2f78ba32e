*** Settings ***
Documentation       A real DHCP client gets its lease from the configured pool, renews it, releases it.
Resource            ../resources/coeus.resource
Suite Setup         Start One Node With A Pool
Suite Teardown      Stop Lab

*** Variables ***
${POOLS}            /restconf/config/dhcp_allocation_pool:dhcp_allocation_pool/
${LEASES}           ${OPERATIONAL}/coeus-dhcp:leases

*** Test Cases ***
A Pod Without An Address Gets One From The Pool
    Create Pod    p1    blue    1
    Plug Pod    p1    blue    1
    ${address}=    Get Lease    blue:p1
    Should Be Equal    ${address}    192.168.10.3
    ${leases}=    Resource Should Exist    ${LEASES}/lease/blue:p1
    Should Be Equal    ${leases}[coeus-dhcp:lease][0][address]    192.168.10.3
    Should Be Equal    ${leases}[coeus-dhcp:lease][0][state]    bound

The Leased Address Is Routed
    Readdress Pod    blue:p1    192.168.10.3/24    192.168.10.2
    Ping Should Pass    blue:p1    192.168.10.2

A Pod With An Address Of Its Own Is Given That
    Create Pod    p2    blue    1    192.168.10.40
    Plug Pod    p2    blue    1
    ${address}=    Get Lease    blue:p2
    Should Be Equal    ${address}    192.168.10.40

A Lease Is Renewed And Released
    Create Pod    p3    blue    1
    Plug Pod    p3    blue    1
    ${address}=    Renew And Release    blue:p3
    Should Be Equal    ${address}    192.168.10.4
    Wait Until Keyword Succeeds    5 s    200 ms    Resource Should Not Exist    ${LEASES}/lease/blue:p3

An Exhausted Pool Offers Nothing And Counts It
    Create Pod    p4    blue    1
    Plug Pod    p4    blue    1
    ${address}=    Get Lease    blue:p4
    Should Be Equal    ${address}    192.168.10.4
    Create Pod    p5    blue    1
    Plug Pod    p5    blue    1
    Run Keyword And Expect Error    *got no lease*    Get Lease    blue:p5
    ${counters}=    Resource Should Exist    ${OPERATIONAL}/coeus-dhcp:counters
    Should Be True    int('${counters}[coeus-dhcp:counters][exhausted]') > 0

A Lease Ends With Its Pod
    Delete Pod    p1    blue
    Wait Until Keyword Succeeds    5 s    200 ms    Resource Should Not Exist    ${LEASES}/lease/blue:p1

Leases Outlive The Controller
    Stop Controller    KILL
    Start Controller
    Open Session
    Resource Should Exist    ${LEASES}/lease/blue:p4

*** Keywords ***
Start One Node With A Pool
    Start Lab And Session    1
    ${pool}=    Evaluate    {"dhcp_allocation_pool:network": [{"dhcp_allocation_pool:allocation-pool": [{"dhcp_allocation_pool:subnet": "192.168.10.0/24", "dhcp_allocation_pool:allocate-to": "192.168.10.4", "dhcp_allocation_pool:gateway": "192.168.10.2", "dhcp_allocation_pool:allocate-from": "192.168.10.2"}], "dhcp_allocation_pool:network-id": "blue"}]}
    PUT On Session    coeus    ${POOLS}    json=${pool}    expected_status=201
