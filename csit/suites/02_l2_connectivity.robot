*** Settings ***
Documentation       Pods of one namespace on one node: one ELAN, addresses answered by the switch, broadcast kept inside.
Resource            ../resources/coeus.resource
Suite Setup         Start One Node With Four Pods
Suite Teardown      Stop Lab

*** Test Cases ***
Every Pod Reaches Every Other One
    ${pairs}=    All Pods Should Reach All    blue
    Should Be Equal As Integers    ${pairs}    6

Frames Stay On Layer 2
    [Documentation]    No router in between: the TTL is untouched, and the neighbour entry is the pod's own MAC.
    ${ttl}=    TTL Seen    blue:p1    10.11.1.11
    Should Be Equal As Integers    ${ttl}    64
    ${mac}=    Resolved Mac    blue:p1    10.11.1.11
    ${expected}=    Pod Mac    blue:p2
    Should Be Equal    ${mac}    ${expected}

The Mac Table Has The Pods Of The Namespace And No Other
    ${dpn}=    Dpn Id    1
    ${mac}=    Pod Mac    blue:p2
    ${elan}=    Set Variable    192.168.200.1:blue
    ${table}=    Set Variable    ${OPERATIONAL}/elan:elan-forwarding-tables/mac-table/${elan}
    Resource Should Say    ${table}/mac-entry/${mac}    "interface":"blue:p2"    "ip-prefix":"10.11.1.11"
    Resource Should Not Say    ${table}    red:p1
    Resource Should Say    ${OPERATIONAL}/elan:elan-dpn-interfaces/elan-dpn-interfaces-list/${elan}/dpn-interfaces/${dpn}
    ...    "interfaces":["blue:p1","blue:p2","blue:p3"]

The Switch Answers ARP
    ${answered}=    Packets In Table    1    81    arp_tpa=10.11.1.11
    Should Be True    ${answered} > 0

Another Namespace Is Not Reached
    Ping Should Pass    red:p1    10.11.1.1
    Ping Should Fail    red:p1    10.11.1.10
    Ping Should Fail    blue:p1    10.11.1.20

*** Keywords ***
Start One Node With Four Pods
    Start Lab And Session    1
    Announce Node    1    10.11.1.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    1    10.11.1.12    10.11.1.1
    Create And Plug Pod    p1    red    1    10.11.1.20    10.11.1.1
